/** Reads files of stores: parts of large binary ones, and JSON as a whole. */

import { type FileHandle, open, readFile, stat } from "node:fs/promises";
import { parseJson } from "../json-values.js";
import { invalid } from "../source.js";

export class FileReader {
  readonly path: string;
  readonly bytes: number;
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle, bytes: number) {
    this.path = path;
    this.#file = file;
    this.bytes = bytes;
  }

  static async open(path: string): Promise<FileReader> {
    const file = await open(path);
    return new FileReader(path, file, (await file.stat()).size);
  }

  async read(position: number, length: number): Promise<Buffer> {
    if (!(position >= 0 && length >= 0 && position + length <= this.bytes)) {
      throw invalid(`${this.path}: it ends early, or is of another kind`);
    }
    const buffer = Buffer.alloc(length);
    for (let done = 0; done < length;) {
      const { bytesRead } = await this.#file.read(buffer, done, length - done, position + done);
      if (bytesRead === 0) throw invalid(`${this.path}: it became shorter`);
      done += bytesRead;
    }
    return buffer;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** The JSON of a file. `instead`: what to do with one that is too long to be read at once. */
export async function readJson(path: string, instead = "split it"): Promise<unknown> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    // Longer than a string, or than a read.
    if (error.name !== "RangeError") throw error;
    throw invalid(`${path}: too long to be read at once; ${instead}`);
  });
  try {
    return parseJson(text);
  } catch {
    // Without the cause, whose message quotes the file.
    throw invalid(`${path}: expected JSON; it ends early, or is of another kind`);
  }
}

/** Size and time of files: cursors of one version mean nothing in another. */
export async function versionOf(...paths: readonly string[]): Promise<string> {
  const stats = await Promise.all(paths.map((path) => stat(path)));
  return stats.map(({ size, mtimeMs }) => `${size}@${mtimeMs}`).join(" ");
}

/** A count or size of eight bytes. */
export function sizeAt(buffer: Buffer, position: number): number {
  return Number(buffer.readBigUInt64LE(position));
}

/** Copies, since the buffer may start anywhere. */
export function floatsOf(buffer: Buffer, position: number, length: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => buffer.readFloatLE(position + 4 * i));
}
