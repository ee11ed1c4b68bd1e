/**
 * Splits an input into parts without coordination: its files, one after the other in the order of their
 * names, are one range of bytes, and part `i` of `n` is the `i`-th of `n` equal ranges. A row belongs to the
 * range in which it begins, so every row belongs to exactly one part.
 */

import { invalid } from "sealdex/wire";
import type { InputFile } from "./input-files.js";

export interface Part {
  /** From 0. */
  readonly part: number;
  readonly parts: number;
}

/** Bytes of a file: those that begin in `[start, end)` are the part's. */
export interface InputRange {
  readonly file: InputFile;
  readonly start: number;
  readonly end: number;
}

export const partsMax = 100_000;

/** `0/32` to `31/32`. Throws `invalid_request`. */
export function parsePart(text: string): Part {
  const [, part, parts] = /^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? [];
  const own = { part: Number(part), parts: Number(parts) };
  if (own.part < own.parts && own.parts <= partsMax) return own;
  throw invalid(`--part: expected i/n, i from 0 and less than n, n at most ${partsMax}, such as 0/32`);
}

export function rangesOf(files: readonly InputFile[], { part, parts }: Part): readonly InputRange[] {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const from = Math.floor(total * (part / parts));
  const to = Math.floor(total * ((part + 1) / parts));
  const ranges: InputRange[] = [];
  let offset = 0;
  for (const file of files) {
    const start = Math.max(from - offset, 0);
    const end = Math.min(to - offset, file.bytes);
    if (start < end) ranges.push({ file, start, end });
    offset += file.bytes;
  }
  return ranges;
}
