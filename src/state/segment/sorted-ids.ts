/** The ids of a segment's rows in the order of string comparison, so that ids can be listed page by page. docs/internals/format.md §4. */

import { sortedInPieces } from "../../async/event-loop.js";
import { expectStored } from "../../checks/stored-json.js";
import type { Work } from "../../engine/work.js";
import type { SortedIdBlock } from "./footer.js";
import { Page } from "./page.js";
import { recordId, type Rows, storedText } from "./row.js";

/** Ids in one piece of work. */
const idsTogether = 4096;

const fingerprintBytes = 16;

interface SortedIds {
  readonly ids: readonly string[];
  /** The stored entry of id `i`: its fingerprint, then the id in UTF-8. */
  entry(i: number): Uint8Array;
}

/** The ids of these rows, sorted. `fingerprints`: theirs, layout (rows, 4) words. */
export function* sortedIdsOf(rows: Rows, fingerprints: Uint32Array): Work<SortedIds> {
  const positions = new Map<string, number>();
  for (let i = 0; i < rows.length; i++) {
    positions.set(recordId(rows.at(i).record), i);
    if (i % idsTogether === idsTogether - 1) yield;
  }
  const ids = yield* sortedInPieces([...positions.keys()], (a, b) => (a < b ? -1 : 1));
  let bytes = 0;
  for (const [i, id] of ids.entries()) {
    bytes += fingerprintBytes + Buffer.byteLength(id, "utf8");
    if (i % idsTogether === idsTogether - 1) yield;
  }
  // One buffer for all entries: a buffer per id costs more than the sorting.
  const stored = Buffer.alloc(bytes);
  const known = new Uint8Array(fingerprints.buffer, fingerprints.byteOffset, fingerprints.byteLength);
  const ends = new Float64Array(ids.length);
  let end = 0;
  for (const [i, id] of ids.entries()) {
    const from = fingerprintBytes * (positions.get(id) as number);
    stored.set(known.subarray(from, from + fingerprintBytes), end);
    end += fingerprintBytes;
    end += stored.write(id, end, "utf8");
    ends[i] = end;
    if (i % idsTogether === idsTogether - 1) yield;
  }
  return { ids, entry: (i) => stored.subarray(i === 0 ? 0 : ends[i - 1], ends[i]) };
}

/** A page of them. Throws `corrupt` unless they ascend, from the id that the page begins with: a listing continues after the last one. */
export function openSortedIds({ rows, firstId, endId }: SortedIdBlock, plaintext: Uint8Array): Page {
  const page = new Page(plaintext, rows, {
    name: "sorted ids",
    mayBeAbsent: false,
    bytesMin: fingerprintBytes,
  });
  const idAt = (i: number) => idIn(page.entry(i) as Uint8Array);
  let before = idAt(0);
  let ascend = before === firstId;
  for (let i = 1; i < rows; i++) {
    const id = idAt(i);
    ascend &&= before < id;
    before = id;
  }
  expectStored(ascend && (endId === undefined || before < endId), "page of sorted ids", "ascending ids");
  return page;
}

/** The id in a stored entry. */
export function idIn(entry: Uint8Array): string {
  return storedText(entry.subarray(fingerprintBytes), "id");
}

/** The fingerprint in a stored entry, as four words. */
export function fingerprintIn(entry: Uint8Array): Uint32Array {
  return new Uint32Array(entry.slice(0, fingerprintBytes).buffer);
}
