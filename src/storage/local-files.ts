/** File system calls of the local store. */

import { constants, type Dirent, fstatSync, lstatSync, type Stats } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, opendir, readdir, stat, unlink } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { SealdexError } from "../errors.js";
import { sortYielding } from "../async/event-loop.js";
import type { ByteRange } from "./blob-store.js";
import { isError } from "../checks/value-kinds.js";

const staleMs = 60 * 60 * 1000;
/**
 * Opening anything but a regular file in its place must neither block nor follow a link. Windows
 * has no such flags.
 */
const readOnly = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
const readOnlyFolder = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_DIRECTORY;
/** Entries of a large folder per turn of the event loop, about a millisecond. */
const entriesTogether = 1024;

/**
 * Makes a folder and its missing parents, for their owner only. Returns the first that was made, or
 * undefined. Node's own `recursive` never returns if a folder cannot be made, for example below
 * /proc.
 */
export async function makeFolders(folder: string): Promise<string | undefined> {
  try {
    return (await makeFolder(folder)) ? folder : undefined;
  } catch (error) {
    if (!hasCode(error, "ENOENT") || dirname(folder) === folder) throw error;
  }
  const first = await makeFolders(dirname(folder));
  const isNew = await makeFolder(folder);
  return first ?? (isNew ? folder : undefined);
}

/** False if the name is taken. */
async function makeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

/** Writes a new file, readable by its owner only, and syncs it. */
export async function writeFile(name: string, bytes: Uint8Array): Promise<void> {
  const file = await open(name, "wx", 0o600);
  await closing(file, async () => {
    await file.writeFile(bytes);
    await file.sync();
  });
}

/** Gives a file a second name; false if that name is taken. */
export async function linkUnlessTaken(file: string, name: string): Promise<boolean> {
  try {
    await link(file, name);
    return true;
  } catch (cause) {
    if (hasCode(cause, "EEXIST")) return false;
    if (!hasCode(cause, "EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS")) throw cause;
    const message =
      "local storage: expected a file system with hard links, so that exactly one of two creates wins; this one refused a link";
    throw new SealdexError("storage_unavailable", message, { cause });
  }
}

export interface OpenFile {
  readonly handle: FileHandle;
  readonly size: number;
}

/**
 * Opens a blob's file. Throws `corrupt` for anything but a regular file: opening a pipe or reading
 * a device may block forever, and a link may lead anywhere.
 */
export async function openBlob(name: string): Promise<OpenFile> {
  const handle = await open(name, readOnly);
  try {
    const stats = fstatSync(handle.fd);
    checkFile(stats);
    return { handle, size: stats.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Stats of a name, without following links. Synchronous, since it takes a microsecond and an
 * asynchronous call takes longer than many queries.
 */
export function entryAt(name: string): Stats | undefined {
  try {
    return lstatSync(name, { throwIfNoEntry: false });
  } catch (error) {
    if (hasCode(error, "ENOTDIR")) return undefined;
    throw error;
  }
}

/**
 * Whether a blob's file exists. Throws `corrupt` like `openBlob`, without opening it: opening a
 * device may have side effects.
 */
export function isFileThere(name: string): boolean {
  const stats = entryAt(name);
  if (stats !== undefined) checkFile(stats);
  return stats !== undefined;
}

function checkFile(stats: Stats): void {
  if (!stats.isFile()) throw new SealdexError("corrupt", `expected a file, got ${kindOf(stats)}`);
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "a folder";
  if (stats.isSymbolicLink()) return "a symbolic link";
  if (stats.isFIFO()) return "a named pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

/**
 * Throws `corrupt` for a link among the folders from `root` to a name: files would be created,
 * listed and deleted elsewhere.
 */
export function checkFolders(root: string, name: string): void {
  for (let end = name.indexOf(sep, root.length + 1); end !== -1; end = name.indexOf(sep, end + 1)) {
    if (entryAt(name.slice(0, end))?.isSymbolicLink())
      throw new SealdexError("corrupt", "expected a folder, got a symbolic link");
  }
}

/** Reads a range of an open file. */
export async function readFileRange(
  { handle: file, size }: OpenFile,
  { offset, length: wanted }: ByteRange,
): Promise<Uint8Array> {
  const length = Math.max(0, Math.min(wanted, size - offset));
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
    if (bytesRead === 0) return bytes.slice(0, done);
    done += bytesRead;
  }
  return bytes;
}

/**
 * Keys that start with `prefix` and come after `after`, in byte order, below the folder `at`
 * (relative to `root`, empty or ending with "/"). Folders are read lazily.
 */
export async function* walk(root: string, at: string, prefix: string, after: string): AsyncGenerator<string> {
  const found: string[] = [];
  const consider = (entry: Dirent) => {
    // Skips foreign names and anything that is neither file nor folder.
    if (!/^[a-z0-9]+$/.test(entry.name) || !(entry.isFile() || entry.isDirectory())) return;
    const key = at + entry.name + (entry.isDirectory() ? "/" : "");
    if (key.startsWith(prefix) && (key > after || (key.endsWith("/") && after.startsWith(key)))) {
      found.push(key);
    }
  };
  const folder = join(root, at);
  // The topmost folders have one entry per index.
  if (at.indexOf("/") === at.length - 1) {
    const entries = await unlessAbsent(root, opendir(folder, { bufferSize: entriesTogether }));
    for await (const entry of entries ?? []) consider(entry);
  } else {
    const entries = await unlessAbsent(root, readdir(folder, { withFileTypes: true }));
    entries?.forEach(consider);
  }
  // "/" sorts before every character of a name, so a folder's keys sort like its name with "/".
  for (const key of await sortYielding(found)) {
    if (key.endsWith("/")) yield* walk(root, key, prefix, after);
    else yield key;
  }
}

/** Deletes temporary files whose writers must have died. */
export async function deleteStaleTemporaries(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(".") || !name.endsWith(".tmp")) continue;
    const file = join(folder, name);
    const stats = await unlessAbsent(folder, lstat(file));
    if (stats !== null && Date.now() - stats.mtimeMs > staleMs) await unlessAbsent(folder, unlink(file));
  }
}

/** Opens a folder to sync it. Windows cannot: null. */
export async function withFolder<T>(
  folder: string,
  use: (handle: FileHandle | null) => Promise<T>,
): Promise<T> {
  if (process.platform === "win32") return use(null);
  const handle = await open(folder, readOnlyFolder);
  return closing(handle, () => use(handle));
}

export async function closing<T>(file: FileHandle, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } finally {
    await file.close();
  }
}

/** Whether an error of the local store may be temporary: too many open files, a busy device. */
export function isTransientFileError(error: unknown): boolean {
  return (
    error instanceof SealdexError && hasCode(error.cause, "EMFILE", "ENFILE", "EAGAIN", "EBUSY", "ETIMEDOUT")
  );
}

/**
 * Null if there is no such file. A file at the place of the store's own folder is still an error.
 */
export async function unlessAbsent<T>(root: string, operation: Promise<T>): Promise<T | null> {
  try {
    return await operation;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    if (hasCode(error, "ENOTDIR") && (await stat(root)).isDirectory()) return null;
    throw error;
  }
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return isError(error) && codes.includes(String(error.code));
}
