import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { SealdexError } from "../../src/errors.js";
import { isBlobStore, openLocation, type StorageLocation } from "../../src/storage/location.js";
import { createMemoryStore } from "../../src/storage/memory.js";

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
  const path = await mkdtemp(join(tmpdir(), "sealdex-location-"));
  for (const location of [{ location: "memory" }, { location: "local", path }] as const) {
    const store = openLocation(location, 60_000);
    await store.create("a", Uint8Array.of(1));
    expect(await store.read("a")).toEqual(Uint8Array.of(1));
    await store.close();
  }
  await rm(path, { recursive: true });
});

test("a caller's own store is used as it is, and told from a location", () => {
  const store = createMemoryStore();
  expect(openLocation(store, 60_000)).toBe(store);
  expect(isBlobStore(store)).toBe(true);
  for (const other of [{ location: "memory" }, { ...store, list: undefined }, null, undefined, "memory", 1]) {
    expect(isBlobStore(other)).toBe(false);
  }
});

test("locations of later versions are not supported", () => {
  for (const location of ["redis", "postgres", "s3", "gcs"]) {
    const { code, message } = refusal({ location });
    expect(code).toBe("not_supported");
    expect(message).toBe(`storage location ${location}: this version has memory and local`);
  }
});

test("anything else is an invalid request that says what was expected", () => {
  for (const location of [{ location: "disk" }, { location: 3 }, {}, null, undefined, "memory", []]) {
    const { code, message } = refusal(location);
    expect(code).toBe("invalid_request");
    expect(message).toContain("redis, postgres, memory, s3, gcs, local");
  }
  for (const path of [undefined, "", 3, null, "a\0b"]) {
    const { code, message } = refusal({ location: "local", path });
    expect(code).toBe("invalid_request");
    expect(message).toMatch(/^storage location local: expected path/);
  }
});

test("errors never show how to get into a store", () => {
  const secret = "hunter2";
  const fields = { connectionString: `redis://u:${secret}@h`, accessKey: secret, secretKey: secret };
  for (const location of ["redis", "postgres", "s3", "gcs", "local", `redis://u:${secret}@h`, undefined]) {
    expect(inspect(refusal({ location, ...fields }), { depth: 10, showHidden: true })).not.toContain(secret);
  }
});
