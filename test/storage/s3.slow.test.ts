/** S3 on a real server. object-store.slow.test.ts has failures of networks and lesser services. */

import { execFile, execFileSync } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, type EmbeddedClientOptions } from "../../src/core.js";
import { storageConformance } from "../../src/storage/conformance.js";
import { openLocation } from "../../src/storage/location.js";
import type { S3ServiceLocation } from "../../src/storage/storage-location.js";
import { indexBehaviour } from "../behavior/behavior.js";
import { s3UnderTest, withBuckets } from "../servers/bucket.js";
import { startCeph } from "../servers/ceph.js";
import { startProxy } from "../servers/proxy.js";
import { Peer, raceTwoProcesses } from "./peer.js";
import { beginning, whole } from "../ranges.js";
import { newFolder } from "../folder.js";

const server = await s3UnderTest();
afterAll(() => server?.stop());

type BucketLocation = S3ServiceLocation;
const one = Uint8Array.of(1);

describe.skipIf(server === null)("s3", () => {
  let location: BucketLocation;
  let made = 0;
  const newLocation = () => ({ ...location, path: `p${made++}/of.tests` });
  beforeAll(async () => {
    location = await server!.newBucket("storage");
  });

  describe("conforms", () => {
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

  indexBehaviour("in S3", async () => {
    const client = createClient({ indexLocation: newLocation() } satisfies EmbeddedClientOptions);
    return { client, close: () => client.close() };
  });

  test("of 32 creates from two processes exactly one wins, for each of 30 keys", async () => {
    const here = newLocation();
    const store = openLocation(here);
    await raceTwoProcesses(here, store);
    await store.close();
  });

  test("a caller's client is used as it is, and not closed", async () => {
    const { bucket } = location;
    const client = server!.client;
    const store = openLocation({ location: "s3", bucket, path: "given", client });
    expect(await store.create("a", one)).toBe(true);
    await store.close();
    const again = openLocation({ location: "s3", bucket, path: "given", client });
    expect(await again.read("a", beginning)).toEqual(one);
    await again.close();
  });

  test("a caller's client that repeats requests by itself does not turn a success into a failure", async () => {
    const { bucket, endpoint } = location;
    const proxy = await startProxy(endpoint as string);
    const credentials = { accessKeyId: server!.accessKey, secretAccessKey: server!.secretKey };
    const client = new S3Client({
      endpoint: proxy.endpoint,
      region: "us-east-1",
      forcePathStyle: true,
      credentials,
      maxAttempts: 3,
    });
    const store = openLocation({ location: "s3", bucket, path: "repeats", client });
    await store.create("first", one);
    proxy.methods.length = 0;
    let isFirst = true;
    proxy.behaviour = async (request) => {
      const answer = await request.forward();
      if (request.method !== "PUT" || !isFirst) return answer;
      isFirst = false;
      return { status: 503, body: "" };
    };
    expect(await store.create("a", one)).toBe(true);
    expect(proxy.methods).toEqual(["PUT", "PUT", "HEAD"]);
    client.destroy();
    await proxy.stop();
  });

  test("the driver uses credentials of the environment, including a session token", async () => {
    const { bucket, endpoint } = location;
    const proxy = await startProxy(endpoint as string);
    const seen = new Set<unknown>();
    proxy.behaviour = (request) => {
      seen.add(request.headers["x-amz-security-token"]);
      return request.forward();
    };
    const script = `
      import { openLocation } from ${JSON.stringify(new URL("../../dist/esm/storage/location.js", import.meta.url).href)};
      const store = openLocation({ location: "s3", bucket: ${JSON.stringify(bucket)}, endpoint: ${JSON.stringify(proxy.endpoint)}, path: "found" });
      const [read] = await Promise.allSettled([store.read("a", { offset: 0, length: 9 })]);
      process.stdout.write(read.status === "fulfilled" ? String(read.value) : read.reason.message);
      await store.close();
    `;
    const run = (environment: Record<string, string>) =>
      new Promise<string>((resolve, reject) => {
        const nothing = { PATH: process.env.PATH, AWS_EC2_METADATA_DISABLED: "true", HOME: "/nonexistent" };
        const args = ["--no-warnings", "--input-type=module", "-e", script];
        execFile(process.execPath, args, { env: { ...nothing, ...environment } }, (error, stdout) =>
          error ? reject(error) : resolve(stdout),
        );
      });
    const found = { AWS_ACCESS_KEY_ID: server!.accessKey, AWS_SECRET_ACCESS_KEY: server!.secretKey };
    expect(await run(found)).toBe("null");
    expect([...seen]).toEqual([undefined]);
    // The server knows no sessions and may refuse the token; that it was sent is authoritative.
    await run({ ...found, AWS_SESSION_TOKEN: "a-session-token" });
    expect([...seen]).toContain("a-session-token");
    expect(await run({})).toBe(
      "s3 storage: read a failed with CredentialsProviderError (no credentials are configured)",
    );
    await proxy.stop();
  });

  test("without the SDK, the error names the package to install", async () => {
    const folder = await newFolder();
    const dist = new URL("../../dist", import.meta.url).pathname;
    await symlink(dist, join(folder, "dist"));
    const run = (file: string, code: string) =>
      execFileSync(process.execPath, ["--preserve-symlinks", "--preserve-symlinks-main", file], {
        input: code,
        encoding: "utf8",
      });
    const body = `
      const store = openLocation({ location: "s3", bucket: "bucket" });
      store.read("a", { offset: 0, length: 9 }).catch(({ code, message }) => console.log(code, message));`;
    const [esm, cjs] = [join(folder, "a.mjs"), join(folder, "b.cjs")];
    await writeFile(esm, `import { openLocation } from "./dist/esm/storage/location.js";${body}`);
    await writeFile(cjs, `const { openLocation } = require("./dist/cjs/storage/location.js");${body}`);
    for (const file of [esm, cjs]) {
      expect(run(file, "")).toBe(
        'not_supported storage location s3: expected the package @aws-sdk/client-s3 ^3.700.0, got none: npm install @aws-sdk/client-s3@"^3.700.0"\n',
      );
    }
  });

  test("the build for require() reads and writes too", async () => {
    const script = `
      const { openLocation } = require(${JSON.stringify(new URL("../../dist/cjs/storage/location.js", import.meta.url).pathname)});
      (async () => {
        const store = openLocation(JSON.parse(process.env.LOCATION));
        await store.create("a", Buffer.from("x"));
        process.stdout.write(String(await store.read("a", { offset: 0, length: 9 })));
        await store.close();
      })();
    `;
    const env = { ...process.env, LOCATION: JSON.stringify(newLocation()) };
    expect(execFileSync(process.execPath, ["--no-warnings", "-e", script], { env, encoding: "utf8" })).toBe(
      "120",
    );
  });
});

describe.skipIf(server === null)("s3 on a server that is restarted", () => {
  test("a store fails clearly meanwhile, and recovers by itself", async () => {
    const own = await startCeph();
    const { newBucket, stop } = withBuckets(own!);
    const store = openLocation({ ...(await newBucket("restart")), path: "x" }, 6_000);
    await store.create("a", one);
    await own!.restartGateway(async () => {
      const reading = expect(store.read("a", beginning)).rejects.toMatchObject({
        code: "storage_unavailable",
        message: "s3 storage: read a failed with ECONNREFUSED (nothing listens at the endpoint)",
      });
      await expect(store.create("b", one)).rejects.toMatchObject({ code: "storage_unavailable" });
      await reading;
    });
    expect(await store.read("a", beginning)).toEqual(one);
    expect(await store.create("b", one)).toBe(true);
    await store.close();
    await stop();
  }, 120_000);

  test("acknowledged blobs outlive the death of every daemon and of the writer", async () => {
    const own = await startCeph({ durable: true });
    const { newBucket, stop } = withBuckets(own!);
    const location = { ...(await newBucket("durable")), path: "x" };
    const peer = new Peer(location);
    const acknowledged = new Set<string>();
    await new Promise<void>((resolve) => {
      peer.process.on("message", ({ created }: { created: string }) => {
        acknowledged.add(created);
        if (acknowledged.size === 100) resolve();
      });
      peer.process.send({ writers: 8 });
    });
    await own!.restart(() => peer.kill());
    const store = openLocation(location);
    const keys = await store.list("");
    expect(keys.filter((key) => key.startsWith("w"))).toEqual(expect.arrayContaining([...acknowledged]));
    for (const key of keys) {
      const bytes = (await store.read(key, whole)) as Uint8Array;
      if (key.startsWith("w")) expect(Buffer.compare(bytes, Buffer.alloc(200_000, key)), key).toBe(0);
    }
    expect(await store.create("after", one)).toBe(true);
    await store.close();
    await stop();
  }, 240_000);
});

test("the SDK is loaded by nothing but the first request to S3", () => {
  const script = `
    const { createServer } = require("node:http");
    const { createClient } = require(${JSON.stringify(new URL("../../dist/cjs/core.js", import.meta.url).pathname)});
    const isLoaded = () => Object.keys(require.cache).some((name) => name.includes("@aws-sdk"));
    const server = createServer((_, response) => response.writeHead(403).end()).listen(0, "127.0.0.1", async () => {
      const endpoint = "http://127.0.0.1:" + server.address().port;
      const client = createClient({
        indexLocation: { location: "s3", bucket: "bucket", endpoint, accessKey: "a", secretKey: "b" },
      });
      const before = isLoaded();
      const { code } = await client.listIndexes().catch((error) => error);
      console.log(before, isLoaded(), code);
      await client.close();
      server.close();
    });
  `;
  const output = execFileSync(process.execPath, ["--no-warnings", "-e", script], { encoding: "utf8" });
  expect(output).toBe("false true storage_unavailable\n");
});
