/**
 * Blobs as files below one folder: the key `a/b` is the file `a/b`.
 *
 * A blob is written to a temporary file next to its final path, synced, and linked to its name: `link(2)` fails if
 * the name exists, among all processes, and a name never shows anything but complete bytes. Then the folder
 * is synced, so that the name survives a power failure. Windows cannot sync folders; there a name is as
 * durable as the file system makes it.
 *
 * Temporary names hold a `.`, which no key does: what a killed process leaves of them is never read nor
 * listed. It is deleted when an hour old, by the next store that first creates a blob in the same folder.
 * Should its writer live after all, that writer's `create` rejects.
 */

import { randomBytes } from "node:crypto";
import { type FileHandle, unlink } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { SealdexError } from "../errors.js";
import { withAbsenceCheck } from "./absence.js";
import type { BlobStore } from "./blob-store.js";
import { createSemaphore } from "./semaphore.js";
import { checkKey, checkPrefix } from "./key.js";
import {
  checkFolders,
  deleteStaleTemporaries,
  entryAt,
  hasCode,
  isFileThere,
  linkUnlessTaken,
  makeFolders,
  readRange,
  unlessAbsent,
  walk,
  withFolder,
  writeFile,
} from "./local-files.js";
import { SharedReads } from "./shared-reads.js";
import { isError } from "../value-kinds.js";

/** Operations in progress at once; each holds at most two open files. */
const operationsMax = 64;
/** Folders that a store knows to be durable; a name takes some 200 bytes. */
const durableMax = 10_000;

/**
 * A store in the folder `path`, which is made at the first `create`. Files and folders are for their owner
 * only (0600, 0700). Whatever the file system refuses is `storage_unavailable`.
 */
export function createLocalStore({ path }: { readonly path: string }): BlobStore {
  const root = resolve(path);
  const semaphore = createSemaphore(operationsMax);
  const reads = new SharedReads();
  /** Folders that are themselves durably linked. */
  const durable = new Set<string>();
  let failure: SealdexError | undefined;
  /** Whether a blob was read, so that the root is known to be a folder we may look into. */
  let isFolder = false;

  function run<T>(operation: string, work: () => Promise<T>): Promise<T> {
    return semaphore(async () => {
      if (failure !== undefined) throw failure;
      try {
        return await work();
      } catch (cause) {
        throw translate(operation, cause);
      }
    });
  }

  /**
   * Makes the names in a folder durable, or fails this store for good: a sync repeated after a failure may
   * succeed without having written anything, and a read would vouch for a blob that can still be lost.
   */
  async function sync(folder: FileHandle | null): Promise<void> {
    try {
      await folder?.sync();
    } catch (cause) {
      // A file system that has no sync of folders makes names as durable as it can without.
      if (hasCode(cause, "EINVAL")) return;
      failure = new SealdexError(
        "storage_unavailable",
        "local storage: a folder could not be synced, so its content may not be durable; open the location again",
        { cause },
      );
      throw failure;
    }
  }

  async function prepare(folder: string): Promise<void> {
    const first = await makeFolders(folder);
    if (first === undefined && durable.has(folder)) return;
    // Also what was there before: another process may have made it and not have synced it yet.
    const top = dirname(first !== undefined && first.length < root.length ? first : root);
    for (let at = folder; at !== top;) {
      at = dirname(at);
      const synced = withFolder(at, sync);
      await (at.length < root.length ? unlessClosedToUs(synced) : synced);
    }
    await deleteStaleTemporaries(folder);
    // Of a location with very many indexes, not all folders: those that are forgotten are synced once more.
    if (durable.size >= durableMax) durable.clear();
    durable.add(folder);
  }

  const store: BlobStore = {
    read(key, range) {
      return run(`read ${key}`, async () => {
        checkKey(key);
        const name = root + sep + key;
        if (!isFileThere(name) && isFolder) return null;
        const bytes = await unlessAbsent(
          root,
          reads.read(name, (file) => readRange(file, range)),
        );
        isFolder ||= bytes !== null;
        return bytes;
      });
    },

    create(key, bytes) {
      return run(`create ${key}`, async () => {
        checkKey(key);
        const name = join(root, key);
        checkFolders(root, name);
        // A commit that lost its race: writing and syncing a file that cannot be linked takes milliseconds.
        if (entryAt(name) !== undefined) return false;
        await prepare(dirname(name));
        // Opened before the name exists: once it does, nothing stands between it and the sync.
        return withFolder(dirname(name), async (folder) => {
          const temporary = join(dirname(name), `.${randomBytes(12).toString("hex")}.tmp`);
          try {
            await writeFile(temporary, bytes);
            if (!(await linkUnlessTaken(temporary, name))) return false;
            await sync(folder);
            return true;
          } finally {
            await unlessAbsent(root, unlink(temporary));
          }
        });
      });
    },

    list(prefix, { limit = Infinity, after = "" } = {}) {
      return run(`list ${prefix}`, async () => {
        checkPrefix(prefix);
        const keys: string[] = [];
        if (limit === 0) return keys;
        const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
        checkFolders(root, join(root, folder));
        for await (const key of walk(root, folder, prefix, after)) {
          if (keys.push(key) === limit) break;
        }
        return keys;
      });
    },

    async delete(keys) {
      keys.forEach(checkKey);
      const names = keys.map((key) => join(root, key));
      for (const [i, name] of names.entries()) {
        await run(`delete ${keys[i]}`, async () => {
          checkFolders(root, name);
          await unlessAbsent(root, unlink(name));
          const folder = dirname(name);
          const isLastHere = i + 1 === names.length || dirname(names[i + 1]) !== folder;
          if (isLastHere) await unlessAbsent(root, withFolder(folder, sync));
        });
      }
    },

    async close() {},
  };
  return withAbsenceCheck(store, (key) => failure === undefined && isFolder && isAbsent(root + sep + key));
}

/** Whether a name is certainly not there; what else the file system says is for a read to report. */
function isAbsent(name: string): boolean {
  try {
    return entryAt(name) === undefined;
  } catch {
    return false;
  }
}

/** A folder above the store that we may not open was not made by a process like ours. */
async function unlessClosedToUs(operation: Promise<void>): Promise<void> {
  try {
    await operation;
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
  }
}

/** What is usually wrong with a path of which the file system says this. */
const hints: Readonly<Record<string, string>> = {
  ENOTDIR: "; the path, or a part of it, is a file and not a folder",
  EACCES: "; this process may not read and write there",
  EPERM: "; this process may not read and write there",
  EISDIR: "; a folder is there in place of the file",
  EROFS: "; the file system is read-only",
  ENOENT: "; a folder could not be made there",
};

function translate(operation: string, cause: unknown): SealdexError {
  if (cause instanceof SealdexError) {
    if (cause.code !== "corrupt") return cause;
    return new SealdexError("corrupt", `local storage: ${operation} failed: ${cause.message}`);
  }
  // The messages of the file system hold paths of this machine; they stay in the cause.
  const reason = isError(cause) && cause.code !== undefined ? cause.code : String(cause);
  const hint = hints[String(reason)] ?? "";
  return new SealdexError("storage_unavailable", `local storage: ${operation} failed with ${reason}${hint}`, {
    cause,
  });
}
