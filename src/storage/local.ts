/**
 * Blobs as files below one folder: the key `a/b` is the file `a/b`.
 *
 * A blob is written to a temporary file next to its final path, synced, and linked to its name.
 * `link(2)` fails if the name exists, across processes, and a name never shows incomplete bytes.
 * Then the folder is synced, so that the name survives a power failure. Windows cannot sync
 * folders; durability of names depends on the file system there.
 *
 * Temporary names contain a `.`, which no key does, so leftovers of killed processes are never read
 * nor listed. The next store that first creates a blob in the folder deletes them once they are an
 * hour old. If their writer is still alive, its `create` rejects.
 */

import { randomBytes } from "node:crypto";
import { type FileHandle, unlink } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { createSemaphore } from "../async/semaphore.js";
import { timers } from "../async/timers.js";
import { isError } from "../checks/value-kinds.js";
import { SealdexError } from "../errors.js";
import { withAbsenceCheck } from "./absence.js";
import type { BlobStore } from "./blob-store.js";
import { checkKey, checkPrefix } from "./key.js";
import {
  checkFolders,
  deleteStaleTemporaries,
  entryAt,
  hasCode,
  isFileThere,
  linkUnlessTaken,
  makeFolders,
  openBlob,
  type OpenFile,
  readFileRange,
  unlessAbsent,
  walk,
  withFolder,
  writeFile,
} from "./local-files.js";

/** Operations in progress at once; each holds at most two open files. */
const operationsMax = 64;
/** Folders that a store knows to be durable; a name takes some 200 bytes. */
const durableMax = 10_000;

/**
 * Opens a store in the folder `path`, which the first `create` makes. Files and folders are for
 * their owner only (0600, 0700). File system errors become `storage_unavailable`.
 */
export function createLocalStore({ path }: { readonly path: string }): BlobStore {
  const root = resolve(path);
  const semaphore = createSemaphore(operationsMax);
  const reads = new SharedReads();
  /** Folders whose own names are synced. */
  const durable = new Set<string>();
  let failure: SealdexError | undefined;
  /** Set once a blob was read, which shows that the root is a readable folder. */
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
      // A file system without folder syncs makes names as durable as it can.
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
    // Syncs existing parents too: another process may have made them without syncing them yet.
    const top = dirname(first !== undefined && first.length < root.length ? first : root);
    for (let at = folder; at !== top;) {
      at = dirname(at);
      const synced = withFolder(at, sync);
      await (at.length < root.length ? unlessClosedToUs(synced) : synced);
    }
    await deleteStaleTemporaries(folder);
    // Bounds the set if a location has very many indexes; forgotten folders are synced again.
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
          reads.read(name, (file) => readFileRange(file, range)),
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
        // Lost races end here: writing and syncing a file that cannot be linked takes milliseconds.
        if (entryAt(name) !== undefined) return false;
        await prepare(dirname(name));
        // Opened first, so that nothing can fail between the link and the sync.
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

/** Whether a name is certainly absent. Reads report any other problem. */
function isAbsent(name: string): boolean {
  try {
    return entryAt(name) === undefined;
  } catch {
    return false;
  }
}

/** Permission errors above the store: those folders belong to other users and are durable. */
async function unlessClosedToUs(operation: Promise<void>): Promise<void> {
  try {
    await operation;
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
  }
}

/** The usual cause of an error code. */
const hints: Readonly<Record<string, string>> = {
  ENOTDIR: "; a part of the path is a file",
  EACCES: "; this process lacks read or write permission there",
  EPERM: "; this process lacks read or write permission there",
  EISDIR: "; a folder has the name of the file",
  EROFS: "; the file system is read-only",
  ENOENT: "; a folder could not be created there",
};

function translate(operation: string, cause: unknown): SealdexError {
  if (cause instanceof SealdexError) {
    if (cause.code !== "corrupt") return cause;
    return new SealdexError("corrupt", `local storage: ${operation} failed: ${cause.message}`);
  }
  // Messages of the file system contain local paths; they stay in the cause.
  const reason = isError(cause) && cause.code !== undefined ? cause.code : String(cause);
  const hint = hints[String(reason)] ?? "";
  return new SealdexError("storage_unavailable", `local storage: ${operation} failed with ${reason}${hint}`, {
    cause,
  });
}

// Opens a file once for reads that start together: opening and closing takes longer than a short
// read.

interface Shared {
  readonly file: Promise<OpenFile>;
  readers: number;
}

class SharedReads {
  /**
   * Files that are not open yet. Later reads open the name again, which may then be another file.
   */
  readonly #waiting = new Map<string, Shared>();

  /** Calls `use` with the file, opened after this call. Throws like `openBlob`. */
  async read<T>(name: string, use: (file: OpenFile) => Promise<T>): Promise<T> {
    const shared = this.#waiting.get(name) ?? this.#share(name);
    shared.readers++;
    const file = await shared.file;
    try {
      return await use(file);
    } finally {
      shared.readers--;
      if (shared.readers === 0) await file.handle.close();
    }
  }

  #share(name: string): Shared {
    const file = new Promise<OpenFile>((begin) => {
      timers.nextTick(() => {
        this.#waiting.delete(name);
        begin(openBlob(name));
      });
    });
    const shared = { file, readers: 0 };
    this.#waiting.set(name, shared);
    return shared;
  }
}
