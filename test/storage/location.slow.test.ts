import { execFileSync } from "node:child_process";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { SealdexError } from "../../src/errors.js";
import { isBlobStore, openLocation, type StorageLocation } from "../../src/storage/location.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { beginning } from "../ranges.js";
import { newFolder } from "../folder.js";

function refusal(location: unknown): SealdexError {
  try {
    openLocation(location as StorageLocation, 60_000);
  } catch (error) {
    expect(error).toBeInstanceOf(SealdexError);
    return error as SealdexError;
  }
  throw new Error("it was opened");
}

test("memory and local open as stores", async () => {
  const path = await newFolder();
  for (const location of [{ location: "memory" }, { location: "local", path }] as const) {
    const store = openLocation(location, 60_000);
    await store.create("a", Uint8Array.of(1));
    expect(await store.read("a", beginning)).toEqual(Uint8Array.of(1));
    await store.close();
  }
});

test("a caller's own store is used as it is, and told from a location", () => {
  const store = createMemoryStore();
  expect(openLocation(store, 60_000)).toBe(store);
  expect(isBlobStore(store)).toBe(true);
  for (const other of [{ location: "memory" }, { ...store, list: undefined }, null, undefined, "memory", 1]) {
    expect(isBlobStore(other)).toBe(false);
  }
});

test("anything else is an invalid request, and the message names the expected value", () => {
  for (const location of [{ location: "disk" }, { location: 3 }, {}, null, undefined, []]) {
    const { code, message } = refusal(location);
    expect(code).toBe("invalid_request");
    expect(message).toContain("redis, postgres, memory, s3, gcs, local");
  }
  expect(refusal("./data").message).toContain(
    'expected an object, such as { location: "local", path: "./data" }',
  );
  for (const path of [undefined, "", 3, null, "a\0b"]) {
    const { code, message } = refusal({ location: "local", path });
    expect(code).toBe("invalid_request");
    expect(message).toMatch(/^storage location local: path: expected a path to name a folder, got /);
  }
});

test.each([
  ["s3", { bucket: undefined }],
  ["s3", { bucket: "" }],
  ["s3", { bucket: "saffron/bucket" }],
  ["s3", { bucket: "../saffron" }],
  ["s3", { accessKey: undefined }],
  ["s3", { secretKey: undefined }],
  ["s3", { secretKey: "saffron with spaces" }],
  ["s3", { accessKey: "saffron\r\nx-amz-acl: public-read" }],
  ["s3", { secretKey: 3 }],
  ["s3", { region: "saffron?" }],
  ["s3", { endpoint: "saffron" }],
  ["s3", { endpoint: "ftp://saffron" }],
  ["s3", { endpoint: "https://saffron:secret@host" }],
  ["s3", { endpoint: "https://host/saffron" }],
  ["s3", { endpoint: "https://host?saffron" }],
  ["s3", { path: "a//saffron" }],
  ["s3", { path: "../saffron" }],
  ["s3", { path: "a/./saffron" }],
  ["s3", { path: "a saffron" }],
  ["s3", { path: "s".repeat(501) }],
  ["s3", { path: 3 }],
  ["s3", { client: "saffron" }],
  ["s3", { client: null }],
  ["s3", { client: { send: () => undefined, destroy: () => undefined } }],
  ["gcs", { bucket: 3 }],
  ["gcs", { accessKey: undefined, secretKey: undefined }],
  ["gcs", { client: { send: () => undefined, destroy: () => undefined } }],
])("%s with %o is an invalid request, which does not repeat it", (location, fields) => {
  const whole = { location, bucket: "bucket", accessKey: "saffron", secretKey: "saffron", ...fields };
  const error = refusal(whole);
  expect(error.code).toBe("invalid_request");
  expect(error.message).toMatch(new RegExp(`^storage location ${location}: (expected|unknown property)`));
  expect(inspect(error, { depth: 10, showHidden: true }).replaceAll(import.meta.url, "")).not.toContain(
    "saffron",
  );
});

test("buckets take paths with a / at either end, and endpoints of every kind", async () => {
  for (const fields of [
    { path: "/a/b/" },
    { path: "" },
    { path: "..a/b.." },
    { endpoint: "http://[::1]:9000/" },
    { endpoint: "https://minio.example" },
    { bucket: "My_bucket.example-1", region: "eu-north-1" },
  ]) {
    for (const location of ["s3", "gcs"] as const) {
      const keys = { accessKey: "a", secretKey: "b" };
      await openLocation({ location, bucket: "bucket", ...keys, ...fields }).close();
    }
  }
});

test("a directory bucket, which does not list in order, is not supported", () => {
  expect(refusal({ location: "s3", bucket: "vectors--eun1-az1--x-s3" }).code).toBe("not_supported");
});

test("errors never show how to get into a store", () => {
  const secret = "hunter2";
  const fields = { connectionString: `redis+tls://u:${secret}@h`, accessKey: secret, secretKey: secret };
  for (const location of ["redis", "postgres", "s3", "gcs", "local", `redis://u:${secret}@h`, undefined]) {
    expect(inspect(refusal({ location, ...fields }), { depth: 10, showHidden: true })).not.toContain(secret);
  }
});

test("a package that is not installed is named with the command that installs it", async () => {
  // The build alone, out of reach of the packages of the tests.
  const folder = await newFolder();
  const root = join(import.meta.dirname, "..", "..");
  for (const name of ["dist", "package.json"]) {
    await cp(join(root, name), join(folder, name), { recursive: true });
  }
  const program = `
    const found = [];
    for (const location of [
      { location: "redis", connectionString: "redis://u:hunter2@h" },
      { location: "postgres", connectionString: "postgres://u:hunter2@h/d" },
      { location: "s3", bucket: "bucket" },
    ]) {
      const client = createClient({ indexLocation: location });
      await client.listIndexes().catch(({ code, message }) => found.push(code + ": " + message));
      await client.close();
    }
    process.stdout.write(found.join("\\n"));
  `;
  const expected = [
    'not_supported: storage location redis: expected the package ioredis ^5.4.0 || ^6.0.0, got none: npm install ioredis@"^5.4.0 || ^6.0.0"',
    'not_supported: storage location postgres: expected the package pg ^8.11.0, got none: npm install pg@"^8.11.0"',
    'not_supported: storage location s3: expected the package @aws-sdk/client-s3 ^3.700.0, got none: npm install @aws-sdk/client-s3@"^3.700.0"',
  ].join("\n");
  const programs = {
    "import.mjs": `import { createClient } from ${JSON.stringify(join(folder, "dist/esm/core.js"))};${program}`,
    "require.mjs": `import { createRequire } from "node:module";
      const { createClient } = createRequire(import.meta.url)("./dist/cjs/core.js");${program}`,
  };
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(folder, name), text);
    const output = execFileSync(process.execPath, [name], { cwd: folder, encoding: "utf8" });
    expect(output, name).toBe(expected);
  }
});

test.each([
  [
    "of another major version",
    // As ioredis 4 exports itself: the class is the module, and there is no Redis in it.
    "module.exports = class Redis {}; module.exports.Cluster = class {};",
    "got a version without Redis",
  ],
  [
    "that does not load, as in a bundle of ES modules,",
    `throw new Error('Dynamic require of "events" is not supported');`,
    'got one that does not load (Dynamic require of "events" is not supported)',
  ],
])("a driver %s is refused at once, with the versions that work", async (_, source, reason) => {
  const folder = await newFolder();
  const root = join(import.meta.dirname, "..", "..");
  for (const name of ["dist", "package.json"]) {
    await cp(join(root, name), join(folder, name), { recursive: true });
  }
  const driver = join(folder, "node_modules", "ioredis");
  await mkdir(driver, { recursive: true });
  await writeFile(
    join(driver, "package.json"),
    '{ "name": "ioredis", "version": "4.28.5", "main": "index.js" }',
  );
  await writeFile(join(driver, "index.js"), source);
  const program = `
    import { createClient } from ${JSON.stringify(join(folder, "dist/esm/core.js"))};
    const client = createClient({ indexLocation: { location: "redis", connectionString: "redis://h" } });
    await client.listIndexes().catch(({ code, message }) => process.stdout.write(code + ": " + message));
  `;
  await writeFile(join(folder, "old.mjs"), program);
  const output = execFileSync(process.execPath, ["old.mjs"], {
    cwd: folder,
    encoding: "utf8",
    timeout: 300_000,
  });
  expect(output).toContain(
    "not_supported: storage location redis: expected the package ioredis ^5.4.0 || ^6.0.0",
  );
  expect(output).toContain(reason);
});
