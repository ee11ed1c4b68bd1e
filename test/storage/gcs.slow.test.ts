/** Google Cloud Storage on the project's own emulator, which checks each signature and condition. */

import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/core.js";
import { storageConformance } from "../../src/storage/conformance.js";
import { openLocation, type StorageLocation } from "../../src/storage/location.js";
import { type GcsEmulator, startGcsEmulator } from "../gcs-emulator/emulator.js";
import { indexBehaviour } from "../behavior/behavior.js";
import { Peer } from "./peer.js";
import { beginning } from "../ranges.js";
import { newFolder } from "../folder.js";

const accessKey = "GOOG1EMULATED";
const secretKey = randomBytes(30).toString("base64");
const keys = new Map([[accessKey, secretKey]]);
const buckets = new Map([["blobs", new Map()]]);
let emulator: GcsEmulator;
let location: StorageLocation;
let made = 0;

beforeAll(async () => {
  emulator = await startGcsEmulator({ keys, buckets });
  location = { location: "gcs", bucket: "blobs", endpoint: emulator.endpoint, accessKey, secretKey };
});
afterAll(() => emulator.stop());
const newLocation = () => ({ ...location, path: `p${made++}/of.tests` });

describe("gcs conforms", () => {
  storageConformance({
    test,
    factory: async () => {
      const here = newLocation();
      let peer: Peer | undefined;
      return {
        open: async () => openLocation(here),
        createElsewhere: (key, contents) => (peer ??= new Peer(here)).create(key, contents),
        destroy: async () => peer?.kill(),
      };
    },
  });
});

indexBehaviour("in Google Cloud Storage", async () => {
  const client = createClient({ indexLocation: newLocation() });
  return { client, close: () => client.close() };
});

test("requests share connections, which close with the store", async () => {
  const store = openLocation(newLocation());
  await store.create("a", Uint8Array.of(1));
  const before = emulator.connections();
  const answeredBefore = emulator.answered.length;
  for (let i = 0; i < 50; i++) await store.read("a", beginning);
  expect(emulator.answered.length - answeredBefore).toBe(50);
  expect(emulator.connections() - before).toBe(0);
  await store.close();
});

test("connections are encrypted, and only to a server with a certificate that is trusted", async () => {
  const folder = await newFolder();
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=sealdex tests", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", ["req", ...kind, ...name, "-keyout", keyFile, "-out", certFile], {
    stdio: "ignore",
  });
  const tls = { key: await readFile(keyFile, "utf8"), cert: await readFile(certFile, "utf8") };
  const secure = await startGcsEmulator({ keys, buckets, tls });
  const script = `
    const { openLocation } = require(${JSON.stringify(new URL("../../dist/cjs/storage/location.js", import.meta.url).pathname)});
    const store = openLocation(JSON.parse(process.env.LOCATION));
    store.create("a", Buffer.from("x")).then(() => store.read("a", { offset: 0, length: 9 })).then(String, (error) => error.message)
      .then((outcome) => { process.stdout.write(outcome); return store.close(); });
  `;
  const run = (environment: Record<string, string>) => {
    const LOCATION = JSON.stringify({ ...newLocation(), endpoint: secure.endpoint });
    const env = { PATH: process.env.PATH, LOCATION, ...environment };
    return promisify(execFile)(process.execPath, ["-e", script], { env }).then(({ stdout }) => stdout);
  };
  expect(await run({ NODE_EXTRA_CA_CERTS: certFile })).toBe("120");
  expect(await run({})).toMatch(/^gcs storage: read probe\/\S+ failed with DEPTH_ZERO_SELF_SIGNED_CERT$/);
  await secure.stop();
});

test("a store works again after a restart of the service", async () => {
  const store = openLocation(newLocation(), 6_000);
  await store.create("a", Uint8Array.of(1));
  const { port } = emulator;
  await emulator.stop();
  await expect(store.read("a", beginning)).rejects.toMatchObject({
    code: "storage_unavailable",
    message: "gcs storage: read a failed with ECONNREFUSED (nothing listens at the endpoint)",
  });
  emulator = await startGcsEmulator({ port, keys, buckets });
  expect(await store.read("a", beginning)).toEqual(Uint8Array.of(1));
  expect(await store.create("b", Uint8Array.of(2))).toBe(true);
  await store.close();
});
