/** Reads the lines of a file from its end to its beginning, in bounded memory however long a line is. */

import type { FileHandle } from "node:fs/promises";

export interface Line {
  /** Without its line feed. Of a line that is too long, its beginning. */
  readonly text: string;
  /** Where it begins, in bytes. */
  readonly start: number;
}

const chunkBytes = 64 * 1024;
/** The service writes no longer ones. */
const lineBytesMax = 64 * 1024;
const lineFeed = 0x0a;

/** The lines that end before `end`, in bytes, newest first. What follows the last line feed is being written, and left out. */
export async function* linesBackwards(file: FileHandle, end: number): AsyncGenerator<Line, void, undefined> {
  // What is known of the line that is being put together: everything from `position` on to its line feed.
  let tail: Buffer | undefined;
  for (let position = end; position > 0;) {
    const start = Math.max(0, position - chunkBytes);
    const chunk = await readAt(file, start, position - start);
    let until = chunk.length;
    for (
      let at = chunk.lastIndexOf(lineFeed);
      at >= 0;
      at = at === 0 ? -1 : chunk.lastIndexOf(lineFeed, at - 1)
    ) {
      if (tail !== undefined) yield lineOf(chunk.subarray(at + 1, until), tail, start + at + 1);
      tail = Buffer.alloc(0);
      until = at;
    }
    if (tail !== undefined) tail = Buffer.concat([chunk.subarray(0, until), tail]).subarray(0, lineBytesMax);
    position = start;
  }
  if (tail !== undefined) yield lineOf(Buffer.alloc(0), tail, 0);
}

/**
 * A position from which on no line is wanted, and before which few are not, in a file whose lines are sorted: the beginning of a
 * line, or `size`. `isPast`: whether a line, given with the one before it, is surely not wanted.
 */
export async function bisectLines(
  file: FileHandle,
  size: number,
  isPast: (before: string, line: string) => boolean,
): Promise<number> {
  let [low, high] = [0, size];
  while (high - low > chunkBytes) {
    const middle = Math.floor((low + high) / 2);
    const chunk = await readAt(file, middle, Math.min(lineBytesMax, high - middle));
    const first = chunk.indexOf(lineFeed) + 1;
    const second = chunk.indexOf(lineFeed, first) + 1;
    const end = chunk.indexOf(lineFeed, second);
    const isComplete = first > 0 && second > first && end > second;
    const text = (from: number, to: number) => chunk.toString("utf8", from, to);
    if (isComplete && isPast(text(first, second - 1), text(second, end))) high = middle + second;
    else low = middle + 1;
  }
  return high;
}

function lineOf(head: Buffer, tail: Buffer, start: number): Line {
  return { text: Buffer.concat([head, tail]).toString("utf8"), start };
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
