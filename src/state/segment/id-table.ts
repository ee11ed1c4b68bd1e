/**
 * The items that a segment has a row or a tombstone for: sorted fingerprints, each with the number of its row or the mark of a
 * tombstone. Layout (n, 5) words: the fingerprint's four, then the row. docs/internals/format.md §4.
 */

import type { Work } from "../../engine/work.js";
import { SealdexError } from "../../errors.js";

export const entryWords = 5;
/** Instead of a row: the item is deleted. */
export const tombstone = 0xffffffff;

/** Fingerprints that are copied, or entries that are written, between two turns of the event loop. */
const together = 16_384;

/** Entries of the fingerprints of rows, layout (rows, 4) words, and of deleted ones, sorted. */
export function* buildEntries(fingerprints: Uint32Array, deleted: readonly Uint8Array[]): Work<Uint32Array> {
  const rows = fingerprints.length / 4;
  const n = rows + deleted.length;
  const words = new Uint32Array(4 * n);
  words.set(fingerprints);
  yield;
  for (let start = 0; start < deleted.length; start += together) {
    words.set(fingerprintWords(deleted.slice(start, start + together)), 4 * (rows + start));
    yield;
  }
  const order = yield* sortedPositions(words, n);
  const entries = new Uint32Array(entryWords * n);
  for (let i = 0; i < n; i++) {
    const from = 4 * order[i];
    const to = entryWords * i;
    entries[to] = words[from];
    entries[to + 1] = words[from + 1];
    entries[to + 2] = words[from + 2];
    entries[to + 3] = words[from + 3];
    entries[to + 4] = order[i] < rows ? order[i] : tombstone;
    if (i % together === together - 1) yield;
  }
  return entries;
}

/** Positions of n fingerprints, layout (n, 4) words, in their order. */
function* sortedPositions(words: Uint32Array, n: number): Work<Uint32Array> {
  // The beginning of the fingerprint and the position share the 53 bits of a float64: typed arrays sort natively.
  const positionBits = Math.ceil(Math.log2(n + 1));
  const positions = 2 ** positionBits;
  const dropped = Math.max(0, positionBits - 21);
  const prefixOf = (position: number) => words[4 * position] >>> dropped;
  const keys = new Float64Array(n);
  for (let position = 0; position < n; position++) keys[position] = prefixOf(position) * positions + position;
  keys.sort();
  yield;
  const order = new Uint32Array(n);
  for (let i = 0; i < n; i++) order[i] = keys[i] % positions;
  yield;
  for (let start = 0; start < n;) {
    let end = start + 1;
    while (end < n && prefixOf(order[end]) === prefixOf(order[start])) end++;
    if (end - start > 1) order.subarray(start, end).sort((a, b) => compareWords(words, a, b));
    start = end;
  }
  return order;
}

/**
 * Checks entries from `start` to `end`: throws `corrupt` unless they come after the one before, and have rows below `rows` or tombstones. Returns
 * how many tombstones there are. `seen`, if there is one, has a bit for each row: no row may come twice.
 */
export function checkEntries(
  entries: Uint32Array,
  rows: number,
  { start, end, seen }: { readonly start: number; readonly end: number; readonly seen?: Uint32Array },
): number {
  let tombstones = 0;
  for (let i = start; i < end; i++) {
    const at = entryWords * i;
    const row = entries[at + 4];
    // Tombstones of several segments are merged as they are.
    const isNext =
      i === 0 ||
      (row === tombstone ? !isBefore(entries, at, at - entryWords) : isBefore(entries, at - entryWords, at));
    if (!isNext) throw corruptIdTable("ascending fingerprints");
    if (row === tombstone) tombstones++;
    else if (row >= rows) throw corruptIdTable(`a row below ${rows}, got ${row}`);
    else if (seen !== undefined) {
      const bit = 1 << (row & 31);
      if ((seen[row >>> 5] & bit) !== 0) throw corruptIdTable(`each row once, got ${row} twice`);
      seen[row >>> 5] |= bit;
    }
  }
  return tombstones;
}

/** Whether the fingerprint at word `a` comes before the one at word `b`. */
function isBefore(entries: Uint32Array, a: number, b: number): boolean {
  if (entries[a] !== entries[b]) return entries[a] < entries[b];
  for (let word = 1; word < 4; word++)
    if (entries[a + word] !== entries[b + word]) return entries[a + word] < entries[b + word];
  return false;
}

export function corruptIdTable(expected: string): SealdexError {
  return new SealdexError("corrupt", `id table: expected ${expected}`);
}

/** Fingerprints as words, layout (n, 4). */
export function fingerprintWords(fingerprints: readonly Uint8Array[]): Uint32Array {
  const words = new Uint32Array(4 * fingerprints.length);
  const bytes = new Uint8Array(words.buffer);
  fingerprints.forEach((fingerprint, i) => bytes.set(fingerprint, 16 * i));
  return words;
}

/** The fingerprint that an entry begins with. */
export function entryFingerprint(entry: Uint32Array): Uint8Array {
  return new Uint8Array(entry.slice(0, 4).buffer);
}

/** Orders the fingerprints at positions a and b of `words`, layout (n, 4). */
function compareWords(words: Uint32Array, a: number, b: number): number {
  for (let i = 0; i < 4; i++)
    if (words[4 * a + i] !== words[4 * b + i]) return words[4 * a + i] - words[4 * b + i];
  return 0;
}

/**
 * The row that `entries` give for a fingerprint, `tombstone`, or -1 if they have none. `entries` are an id table or
 * one block of it. Fingerprints are uniform between the first and the last, so interpolation finds the place in a few steps
 * (Peterson, 1957).
 */
export function findEntry(entries: Uint32Array, w0: number, w1: number, w2: number, w3: number): number {
  const n = entries.length / entryWords;
  const first = entries[0];
  const last = entries[(n - 1) * entryWords];
  if (n === 0 || w0 < first || w0 > last) return -1;
  let place = last > first ? Math.floor(((w0 - first) / (last - first)) * (n - 1)) : 0;
  while (place > 0 && entries[place * entryWords] >= w0) place--;
  for (; place < n && place >= 0; place++) {
    const at = place * entryWords;
    if (entries[at] > w0) return -1;
    if (entries[at] === w0 && entries[at + 1] === w1 && entries[at + 2] === w2 && entries[at + 3] === w3) {
      return entries[at + 4];
    }
  }
  return -1;
}
