/** Other things with the name of a blob's file, in a folder that others write to or that is synchronized. */

import { execFileSync } from "node:child_process";
import {
  appendFile,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/core.js";
import { createLocalStore } from "../../src/storage/local.js";
import { beginning, whole } from "../ranges.js";

let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "sealdex-hostile-"));
});
afterAll(() => rm(base, { recursive: true }));

const newFolder = () => mkdtemp(join(base, "store-"));
const gibibyte = 2 ** 30;

/** Puts something at a path that is free. */
type Put = (path: string) => Promise<unknown>;

const notFiles: Record<string, { readonly put: Put; readonly named: string }> = {
  "a named pipe": { put: async (path) => execFileSync("mkfifo", [path]), named: "a named pipe" },
  "a socket": { put: listen, named: "a socket" },
  "a folder": { put: (path) => mkdir(path), named: "a folder" },
  "a link to a file elsewhere": { put: (path) => symlink("/etc/hostname", path), named: "a symbolic link" },
  "a link to a device": { put: (path) => symlink("/dev/zero", path), named: "a symbolic link" },
  "a link to nothing": { put: (path) => symlink("/nowhere/at/all", path), named: "a symbolic link" },
  "a link to itself": { put: (path) => symlink(path, path), named: "a symbolic link" },
};

/** Node removes a socket's file when it stops to listen; under another name it stays. */
async function listen(path: string): Promise<void> {
  const server = createServer();
  const short = await mkdtemp(join(tmpdir(), "s-"));
  await new Promise<void>((resolve) => {
    server.listen(join(short, "s"), resolve);
  });
  await rename(join(short, "s"), path);
  server.close();
  await rm(short, { recursive: true });
}

describe.skipIf(process.platform === "win32").each(Object.entries(notFiles))("%s", (_, { put, named }) => {
  test("is no blob: a read names its kind, and a create does not touch it", async () => {
    const path = await newFolder();
    const store = createLocalStore({ path });
    await store.create("a/b", Uint8Array.of(1));
    await put(join(path, "a", "c"));
    const before = await lstat(join(path, "a", "c"));
    const refused = {
      code: "corrupt",
      message: `local storage: read a/c failed: expected a file, got ${named}`,
    };
    for (const opened of [store, createLocalStore({ path })]) {
      await expect(opened.read("a/c", whole)).rejects.toMatchObject(refused);
      await expect(opened.read("a/c", { offset: 5, length: 1 })).rejects.toMatchObject(refused);
      expect(await opened.create("a/c", Uint8Array.of(2))).toBe(false);
      expect(await opened.read("a/b", whole)).toEqual(Uint8Array.of(1));
      expect(await opened.list("")).toEqual(["a/b"]);
    }
    expect((await lstat(join(path, "a", "c"))).ino).toBe(before.ino);
  });

  test("in the place of the next manifest is corrupt, in one index, as long as it is there", async () => {
    const path = await newFolder();
    await using client = createClient({
      indexLocation: { location: "local", path },
      automaticTraining: false,
    });
    const indexKey = new Uint8Array(32).fill(1);
    const indexes = await Promise.all(
      ["one", "two"].map((indexName) => client.createIndex({ indexName, indexKey })),
    );
    for (const index of indexes) await index.upsert([{ id: "a", vector: [1, 2] }]);
    const manifests = await manifestFolders(path);
    const [newest] = (await readdir(manifests[0])).sort();
    const next = join(manifests[0], String(BigInt(newest) - 1n).padStart(16, "0"));
    await put(next);
    const counts = await Promise.allSettled(indexes.map((index) => index.count()));
    const failed = counts.filter(({ status }) => status === "rejected");
    expect(failed).toMatchObject([{ reason: { code: "corrupt" } }]);
    expect(counts).toContainEqual({ status: "fulfilled", value: 1 });
    await rm(next, { recursive: true });
    expect(await Promise.all(indexes.map((index) => index.count()))).toEqual([1, 1]);
  });
});

async function manifestFolders(path: string): Promise<string[]> {
  const found = await readdir(join(path, "index"), { recursive: true });
  return found.filter((name) => name.endsWith("manifest")).map((name) => join(path, "index", name));
}

describe("a file that is longer than anything Sealdex stores", () => {
  test.each([2 ** 31 - 1, 2 ** 31, 3 * gibibyte, 5 * gibibyte])(
    "of %i bytes is read in parts",
    async (size) => {
      const path = await newFolder();
      const store = createLocalStore({ path });
      await store.create("a", Uint8Array.of(1));
      await truncate(join(path, "a"), size);
      expect(await store.read("a", { offset: 0, length: 3 })).toEqual(Uint8Array.of(1, 0, 0));
      expect(await store.read("a", { offset: size - 2, length: gibibyte })).toEqual(Uint8Array.of(0, 0));
    },
  );

  test("in the place of a record, a manifest or a secret is corrupt", async () => {
    const path = await newFolder();
    const indexLocation = { location: "local", path } as const;
    const indexKey = new Uint8Array(32).fill(1);
    const client = createClient({ indexLocation, automaticTraining: false });
    const index = await client.createIndex({ indexName: "one", indexKey });
    await index.upsert([{ id: "a", vector: [1, 2] }], { namespace: "mine" });
    await client.close();
    const names = await createLocalStore({ path }).list("");
    // Of each kind the newest, which is the first.
    for (const kind of ["names/", "/manifest/", "/namespace/", "/segment/"]) {
      const name = names.find((one) => one.includes(kind)) as string;
      const file = join(path, name);
      const { size } = await stat(file);
      await truncate(file, 3 * gibibyte);
      const opened = createClient({ indexLocation, automaticTraining: false });
      const read = opened.loadIndex({ indexName: "one", indexKey }).then((one) => one.get(["a"]));
      // Bytes beyond the length of a segment are not read.
      if (kind === "/segment/") expect(await read).toHaveLength(1);
      else await expect(read, name).rejects.toMatchObject({ code: "corrupt" });
      await opened.close();
      await truncate(file, size);
    }
  });
});

test("a file that grows, shrinks or is replaced while it is read gives its old bytes, or fewer", async () => {
  const path = await newFolder();
  const store = createLocalStore({ path });
  const contents = new Uint8Array(100_000).fill(7);
  await store.create("a", contents);
  let isOver = false;
  const changing = (async () => {
    for (let i = 0; !isOver; i++) {
      if (i % 2 === 0) await appendFile(join(path, "a"), contents);
      else await truncate(join(path, "a"), 10);
    }
  })();
  for (let i = 0; i < 200; i++) {
    const read = (await store.read("a", { offset: 0, length: 150_000 })) as Uint8Array;
    expect(read.length).toBeLessThanOrEqual(150_000);
    expect(read.subarray(0, 10)).toEqual(contents.subarray(0, 10));
  }
  isOver = true;
  await changing;
});

test("a second name of a file elsewhere is read, and deleted without the file", async () => {
  const path = await newFolder();
  const store = createLocalStore({ path });
  await writeFile(join(base, "else"), "x");
  await store.create("a/b", Uint8Array.of(1));
  await link(join(base, "else"), join(path, "a", "c"));
  expect(await store.read("a/c", beginning)).toEqual(Uint8Array.of(120));
  await store.delete(["a/c"]);
  expect(await readFile(join(base, "else"), "utf8")).toBe("x");
});

describe.skipIf(process.platform === "win32")("in the place of a folder", () => {
  test("a link leads no create, list or delete out of the location", async () => {
    const path = await newFolder();
    const elsewhere = await newFolder();
    await writeFile(join(elsewhere, "hosts"), "x");
    const store = createLocalStore({ path });
    await store.create("a/b/c", Uint8Array.of(1));
    await rm(join(path, "a", "b"), { recursive: true });
    await symlink(elsewhere, join(path, "a", "b"));
    const operations = {
      "create a/b/c": () => store.create("a/b/c", Uint8Array.of(2)),
      "create a/b/d/e": () => store.create("a/b/d/e", Uint8Array.of(2)),
      "list a/b/": () => store.list("a/b/"),
      "delete a/b/hosts": () => store.delete(["a/b/hosts"]),
    };
    for (const [name, operation] of Object.entries(operations)) {
      await expect(operation(), name).rejects.toMatchObject({
        code: "corrupt",
        message: `local storage: ${name} failed: expected a folder, got a symbolic link`,
      });
    }
    expect(await store.list("a")).toEqual([]);
    expect(await readdir(elsewhere)).toEqual(["hosts"]);
  });

  test("a pipe keeps nothing waiting", async () => {
    const path = await newFolder();
    const store = createLocalStore({ path });
    await store.create("b", Uint8Array.of(1));
    execFileSync("mkfifo", [join(path, "a")]);
    await expect(store.create("a/b", Uint8Array.of(1))).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    expect(await store.read("a/b", whole)).toBeNull();
    expect(await store.list("a/")).toEqual([]);
    await store.delete(["a/b"]);
  });

  test("the location itself may be a link to a folder", async () => {
    const [path, real] = [join(await newFolder(), "link"), await newFolder()];
    await symlink(real, path);
    const store = createLocalStore({ path });
    expect(await store.create("a/b", Uint8Array.of(1))).toBe(true);
    expect(await store.read("a/b", whole)).toEqual(Uint8Array.of(1));
    expect(await store.list("a/")).toEqual(["a/b"]);
    await store.delete(["a/b"]);
    expect(await readdir(join(real, "a"))).toEqual([]);
  });
});

test("a leftover that is a link or a pipe is not followed when it is looked at", async () => {
  const path = await newFolder();
  await mkdir(join(path, "a"));
  await symlink("/dev/zero", join(path, "a", ".x.tmp"));
  execFileSync("mkfifo", [join(path, "a", ".y.tmp")]);
  expect(await createLocalStore({ path }).create("a/b", Uint8Array.of(1))).toBe(true);
});
