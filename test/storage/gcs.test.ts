/** Google Cloud Storage on the project's own emulator, which checks each signature and condition. */

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/core.js";
import { storageConformance } from "../../src/storage/conformance.js";
import { openLocation, type StorageLocation } from "../../src/storage/location.js";
import { type GcsEmulator, startGcsEmulator } from "../gcs-emulator/emulator.js";
import { indexBehaviour } from "../index/behaviour.js";
import { LocationPeer } from "./location-peer.js";

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
      let peer: LocationPeer | undefined;
      return {
        open: async () => openLocation(here),
        createElsewhere: (key, contents) => (peer ??= new LocationPeer(here)).create(key, contents),
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
  for (let i = 0; i < 50; i++) await store.read("a");
  expect(emulator.answered.length - answeredBefore).toBe(50);
  expect(emulator.connections() - before).toBe(0);
  await store.close();
});

test("a store goes on when the service was restarted", async () => {
  const store = openLocation(newLocation());
  await store.create("a", Uint8Array.of(1));
  const { port } = emulator;
  await emulator.stop();
  await expect(store.read("a")).rejects.toMatchObject({
    code: "storage_unavailable",
    message: "gcs storage: read a failed with ECONNREFUSED (nothing listens at the endpoint)",
  });
  emulator = await startGcsEmulator({ port, keys, buckets });
  expect(await store.read("a")).toEqual(Uint8Array.of(1));
  expect(await store.create("b", Uint8Array.of(2))).toBe(true);
  await store.close();
});
