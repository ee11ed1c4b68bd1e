/** The ids of a segment's rows in the order of string comparison, so that ids can be listed page by page. FORMAT.md §4. */

import type { Work } from "../engine/work.js";
import { recordId, type Row } from "./row.js";
import { sortedInPieces } from "./sorted-in-pieces.js";

/** Ids in one piece of work. */
const together = 4096;

const fingerprintBytes = 16;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export interface SortedId {
  readonly id: string;
  /** As it is stored: the fingerprint, then the id in UTF-8. */
  readonly entry: Uint8Array;
}

/** The ids of these rows, sorted. */
export function* sortedIdsOf(rows: readonly Row[]): Work<SortedId[]> {
  const fingerprints = new Map<string, Uint8Array>();
  for (const [i, { record, fingerprint }] of rows.entries()) {
    fingerprints.set(recordId(record), fingerprint);
    if (i % together === together - 1) yield;
  }
  const ids = yield* sortedInPieces([...fingerprints.keys()], (a, b) => (a < b ? -1 : 1));
  let bytes = 0;
  for (const [i, id] of ids.entries()) {
    bytes += fingerprintBytes + Buffer.byteLength(id, "utf8");
    if (i % together === together - 1) yield;
  }
  // One buffer for all entries: a buffer per id costs more than the sorting.
  const stored = Buffer.alloc(bytes);
  const sorted: SortedId[] = [];
  let start = 0;
  for (const id of ids) {
    stored.set(fingerprints.get(id) as Uint8Array, start);
    const end = start + fingerprintBytes + stored.write(id, start + fingerprintBytes, "utf8");
    if (sorted.push({ id, entry: stored.subarray(start, end) }) % together === 0) yield;
    start = end;
  }
  return sorted;
}

/** The id in a stored entry. */
export function idIn(entry: Uint8Array): string {
  return utf8.decode(entry.subarray(fingerprintBytes));
}

/** The fingerprint in a stored entry, as four words. */
export function fingerprintIn(entry: Uint8Array): Uint32Array {
  return new Uint32Array(entry.slice(0, fingerprintBytes).buffer);
}
