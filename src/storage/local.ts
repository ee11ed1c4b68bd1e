/**
 * Blobs as files below one folder: the key `a/b` is the file `a/b`.
 *
 * A blob is written to a temporary file, synced, and linked to its name: `link(2)` fails if the name exists, and a
 * name only ever shows complete bytes. Then the folder is synced. Temporary names hold a `.`, which no key does;
 * what a crash leaves of them is never listed nor read, and deleted when an hour has passed.
 */

import { randomBytes } from "node:crypto";
import { link, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SealdexError } from "../errors.js";
import type { BlobStore, ByteRange } from "./blob-store.js";
import { checkKey } from "./key.js";

const abandonedMs = 60 * 60 * 1000;

/** Files are made readable by their owner only. Throws `storage_unavailable` where the folder cannot be used. */
export function createLocalStore(path: string): BlobStore {
  const known = new Set<string>();

  /** Makes a folder and everything above it, up to `path`, durable. */
  async function makeFolder(folder: string): Promise<void> {
    if (known.has(folder)) return;
    const first = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (first !== undefined) {
      for (let made = folder; made.length >= first.length; made = dirname(made))
        await syncFolder(dirname(made));
    }
    await removeAbandoned(folder);
    known.add(folder);
  }

  return {
    read: (key, range) => {
      checkKey(key);
      return translate(`read ${key}`, () => readFile(join(path, key), range));
    },
    create: (key, bytes) => {
      checkKey(key);
      const file = join(path, key);
      return translate(`create ${key}`, async () => {
        await makeFolder(dirname(file));
        return createFile(file, bytes);
      });
    },
    list: (prefix, { limit = Infinity, after = "" } = {}) =>
      translate(`list ${prefix}`, async () => {
        const keys: string[] = [];
        if (limit <= 0) return keys;
        for await (const key of walk(path, "", prefix, after)) {
          keys.push(key);
          if (keys.length >= limit) break;
        }
        return keys;
      }),
    delete: (keys) =>
      translate("delete", async () => {
        for (const key of keys) {
          checkKey(key);
          await rm(join(path, key), { force: true });
        }
      }),
    close: async () => known.clear(),
  };
}

async function readFile(file: string, range: ByteRange | undefined): Promise<Uint8Array | null> {
  const handle = await openIfPresent(file);
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    const offset = Math.min(range?.offset ?? 0, size);
    const length = Math.min(range?.length ?? size, size - offset);
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length;) {
      const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0) return bytes.subarray(0, done);
      done += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

async function openIfPresent(file: string) {
  try {
    return await open(file, "r");
  } catch (error) {
    // ENOTDIR: a part of the key is a file, so the key itself names nothing.
    if (hasCode(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

async function createFile(file: string, bytes: Uint8Array): Promise<boolean> {
  const temporary = join(dirname(file), `.${randomBytes(12).toString("hex")}.tmp`);
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(temporary, file);
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    if (hasCode(error, "EPERM", "ENOTSUP", "ENOSYS")) {
      const message =
        "local storage: the file system has no hard links, which creating a file exactly once needs";
      throw new SealdexError("storage_unavailable", message, { cause: error });
    }
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(file));
  return true;
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder for syncing; its file systems journal the names.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(".") || !name.endsWith(".tmp")) continue;
    const file = join(folder, name);
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs > abandonedMs) await rm(file, { force: true });
  }
}

/** Keys below `folder` that start with `prefix` and come after `after`, in byte order. */
async function* walk(folder: string, at: string, prefix: string, after: string): AsyncGenerator<string> {
  const entries = await readFolder(folder);
  // Within a whole key, a folder's name goes on with "/": that is what it sorts by.
  const names = entries
    .filter((entry) => /^[a-z0-9]+$/.test(entry.name))
    .map((entry) => at + entry.name + (entry.isDirectory() ? "/" : ""));
  for (const name of names.sort()) {
    const folderHere = name.endsWith("/");
    if (!name.startsWith(prefix) && !(folderHere && prefix.startsWith(name))) continue;
    if (!folderHere) {
      if (name > after) yield name;
    } else if (name > after || after.startsWith(name)) {
      yield* walk(join(folder, name.slice(at.length, -1)), name, prefix, after);
    }
  }
}

async function readFolder(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

async function translate<T>(operation: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof SealdexError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown error";
    throw new SealdexError("storage_unavailable", `local storage: ${operation} failed with ${code}`, {
      cause,
    });
  }
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? "");
}
