import { once } from "node:events";
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storageConformance } from "../../src/storage/conformance.js";
import { createLocalStore } from "../../src/storage/local.js";
import { Peer, raceTwoProcesses } from "./peer.js";
import { whole } from "../ranges.js";
import { failure, refusal } from "../outcome.js";

let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "sealdex-local-"));
  await chmod(base, 0o755);
});
afterAll(() => rm(base, { recursive: true }));

const newFolder = () => mkdtemp(join(base, "store-"));

describe("local conforms", () => {
  storageConformance({
    test,
    factory: async () => {
      const folder = await newFolder();
      let peer: Peer | undefined;
      return {
        open: async () => createLocalStore({ path: folder }),
        createElsewhere: (key, contents) =>
          (peer ??= new Peer({ location: "local", path: folder })).create(key, contents),
        destroy: async () => {
          await peer?.kill();
          expect(await temporaryFiles(folder)).toEqual([]);
          await rm(folder, { recursive: true });
        },
      };
    },
  });
});

test("parts that are read together are each the right one, and leave no file open", async () => {
  const folder = await newFolder();
  const store = createLocalStore({ path: folder });
  const contents = Uint8Array.from({ length: 100_000 }, (_, i) => (i * i) % 251);
  await store.create("a/b", contents);
  const reads = Array.from({ length: 300 }, async (_, i) => {
    const range = { offset: 331 * i, length: 1 + 17 * i };
    const bytes = await store.read("a/b", range);
    expect(bytes).toEqual(contents.slice(range.offset, range.offset + range.length));
  });
  await Promise.all([...reads, store.read("a/missing", { offset: 0, length: 1 })]);
  if (process.platform === "linux") expect(await openFilesIn(folder)).toEqual([]);
});

test("a read after a replacement gives the new blob while parts of the old one are still read", async () => {
  const store = createLocalStore({ path: await newFolder() });
  const old = new Uint8Array(20_000_000).fill(1);
  await store.create("a/b", old);
  const reading = Promise.all(Array.from({ length: 4 }, () => store.read("a/b", whole)));
  // In a turn of its own, so that these have opened the file.
  await store.read("a/b", { offset: 0, length: 1 });
  await store.delete(["a/b"]);
  expect(await store.read("a/b", whole)).toBeNull();
  await store.create("a/b", Uint8Array.of(2));
  expect(await store.read("a/b", whole)).toEqual(Uint8Array.of(2));
  for (const bytes of await reading) expect(bytes?.length).toBe(old.length);
});

async function openFilesIn(folder: string): Promise<string[]> {
  const links = (await readdir("/proc/self/fd")).map((name) =>
    readlink(`/proc/self/fd/${name}`).catch(() => ""),
  );
  return (await Promise.all(links)).filter((path) => path.startsWith(folder));
}

async function temporaryFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.includes("."));
}

test.skipIf(process.platform !== "linux").each(["/proc/x", "/proc/x/y", "/dev/null/x"])(
  "the folder %s, which cannot be made, is refused, and not tried for ever",
  async (path) => {
    const creating = createLocalStore({ path }).create("a/b", Uint8Array.of(1));
    await expect(creating).rejects.toMatchObject({ code: "storage_unavailable" });
  },
);

test("of 32 creates from two processes exactly one wins, for each of 30 keys", async () => {
  const path = await newFolder();
  await raceTwoProcesses({ location: "local", path }, createLocalStore({ path }));
  expect(await temporaryFiles(path)).toEqual([]);
});

test("a process killed in the middle of creates leaves complete blobs, and each that it acknowledged", async () => {
  const folder = await newFolder();
  let interrupted = 0;
  for (let kill = 0; kill < 10; kill++) {
    const path = join(folder, String(kill));
    const peer = new Peer({ location: "local", path });
    const acknowledged = new Set<string>();
    const killed = once(peer.process, "exit");
    peer.process.on("message", ({ created }: { created: string }) => {
      acknowledged.add(created);
      if (acknowledged.size === 3 * kill + 1) peer.process.kill("SIGKILL");
    });
    peer.process.send({ writers: 8 });
    expect((await killed)[1]).toBe("SIGKILL");

    const store = createLocalStore({ path });
    const keys = await store.list("");
    for (const key of keys) {
      const bytes = (await store.read(key, whole)) as Uint8Array;
      expect(Buffer.compare(bytes, Buffer.alloc(200_000, key)), key).toBe(0);
    }
    expect(keys).toEqual(expect.arrayContaining([...acknowledged]));
    interrupted += (await temporaryFiles(path)).length;
    expect(await store.create("w0/after", Uint8Array.of(1))).toBe(true);
  }
  // Otherwise the kills hit nothing.
  expect(interrupted).toBeGreaterThan(0);
});

test("leftovers of a killed process are deleted after an hour; files of others stay", async () => {
  const folder = await newFolder();
  await mkdir(join(folder, "a"));
  const files = ["a/.0f.tmp", "a/.1f.tmp", "a/.keep", ".keep", "README.md"];
  for (const name of files) await writeFile(join(folder, name), "x");
  const hoursAgo = Date.now() / 1000 - 2 * 3600;
  for (const name of files.slice(1)) await utimes(join(folder, name), hoursAgo, hoursAgo);

  const store = createLocalStore({ path: folder });
  await store.create("a/b", Uint8Array.of(1));
  expect((await temporaryFiles(folder)).sort()).toEqual([".keep", "README.md", "a/.0f.tmp", "a/.keep"]);
  expect(await store.list("")).toEqual(["a/b"]);
  expect(await store.list("a/", { limit: 1 })).toEqual(["a/b"]);
});

test("files and folders are for their owner only", async () => {
  const path = join(await newFolder(), "made", "here");
  await createLocalStore({ path }).create("a/b", Uint8Array.of(1));
  const modes = ["..", ".", "a", "a/b"].map(async (name) => (await stat(join(path, name))).mode & 0o777);
  expect(await Promise.all(modes)).toEqual([0o700, 0o700, 0o700, 0o600]);
});

test("a create under a name that is taken touches nothing", async () => {
  const folder = await newFolder();
  const store = createLocalStore({ path: folder });
  const contents = new Uint8Array([1]);
  expect(await store.create("a/b", contents)).toBe(true);
  const long = new Date(0);
  await utimes(join(folder, "a"), long, long);
  expect(await store.create("a/b", contents)).toBe(false);
  expect((await stat(join(folder, "a"))).mtime).toEqual(long);
});

test("a folder that does not exist yet is an empty store", async () => {
  const path = join(await newFolder(), "absent");
  const store = createLocalStore({ path });
  expect(await store.list("")).toEqual([]);
  expect(await store.read("a", whole)).toBeNull();
  await store.delete(["a"]);
  await expect(stat(path)).rejects.toThrow("ENOENT");
});

test("a store whose folder is emptied still works", async () => {
  const path = await newFolder();
  const store = createLocalStore({ path });
  await store.create("a/b", Uint8Array.of(1));
  await rm(path, { recursive: true });
  expect(await store.read("a/b", whole)).toBeNull();
  expect(await store.create("a/b", Uint8Array.of(2))).toBe(true);
});

test("a relative path stays where it was when the store was opened", async () => {
  const folder = await newFolder();
  const before = process.cwd();
  process.chdir(folder);
  const store = createLocalStore({ path: "here" });
  process.chdir(before);
  await store.create("a", Uint8Array.of(1));
  expect(await readdir(join(folder, "here"))).toEqual(["a"]);
});

test("a path that is a file makes every operation fail, named with its key", async () => {
  const path = join(await newFolder(), "file");
  await writeFile(path, "");
  const store = createLocalStore({ path });
  const operations = {
    "read a/b": () => store.read("a/b", whole),
    "create a/b": () => store.create("a/b", Uint8Array.of(1)),
    "list a/": () => store.list("a/"),
    "delete a/b": () => store.delete(["a/b"]),
  };
  for (const [name, operation] of Object.entries(operations)) {
    const error = await failure(operation());
    expect(error.code).toBe("storage_unavailable");
    expect(error.message).toMatch(new RegExp(`^local storage: ${name} failed with E[A-Z]+(; .*)?$`));
    expect(error.cause).toBeInstanceOf(Error);
  }
});

/** Root can write to every folder, so this runs as an unprivileged user. */
async function unprivileged<T>(owned: string, work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  await chown(owned, 65534, 65534);
  process.seteuid?.(65534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

test("a folder that cannot be written or read is unavailable", async () => {
  const path = await newFolder();
  await createLocalStore({ path }).create("a", Uint8Array.of(1));
  await chmod(path, 0o500);
  const error = await unprivileged(path, () =>
    failure(createLocalStore({ path }).create("b", Uint8Array.of(1))),
  );
  expect(error).toMatchObject({ code: "storage_unavailable", message: expect.stringContaining("EACCES") });
  await chmod(path, 0o000);
  for (const work of [
    () => createLocalStore({ path }).list(""),
    () => createLocalStore({ path }).read("a", whole),
  ]) {
    const refused = await unprivileged(path, () => failure(work()));
    expect(refused).toMatchObject(refusal("storage_unavailable", "EACCES"));
  }
  await chmod(path, 0o700);
});

test("the folder above the store need not be readable", async () => {
  const above = await newFolder();
  await chmod(above, 0o300);
  const created = await unprivileged(above, () =>
    createLocalStore({ path: join(above, "store") }).create("a/b", Uint8Array.of(1)),
  );
  expect(created).toBe(true);
  await chmod(above, 0o700);
});

test("keys and prefixes that could leave the folder are refused", async () => {
  const store = createLocalStore({ path: await newFolder() });
  for (const key of [
    "",
    "/",
    "../a",
    "a/../b",
    "a//b",
    "/a",
    "a/",
    "A",
    "a.b",
    "a\0",
    "ä",
    "x".repeat(251),
  ]) {
    expect((await failure(store.read(key, whole))).code).toBe("internal");
    expect((await failure(store.create(key, Uint8Array.of(1)))).code).toBe("internal");
    expect((await failure(store.delete(["b", key]))).code).toBe("internal");
  }
  for (const prefix of ["/", "../", "a/../", "a//", "."]) {
    expect((await failure(store.list(prefix))).code).toBe("internal");
  }
});

test("a location that cannot be a folder is refused by the first call, which says why", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sealdex-unusable-"));
  const file = join(folder, "file");
  await writeFile(file, "x");
  for (const path of [file, join(file, "below")]) {
    const store = createLocalStore({ path });
    const attempts = [store.list(""), store.create("a/b", new Uint8Array(1)), store.read("a/b", whole)];
    for (const [i, attempt] of (await Promise.allSettled(attempts)).entries()) {
      expect(attempt.status, `${path} ${i}`).toBe("rejected");
      expect((attempt as PromiseRejectedResult).reason).toMatchObject(
        refusal("storage_unavailable", "a part of the path is a file"),
      );
    }
  }
  await rm(folder, { recursive: true });
});
