/** The live rows of a snapshot that match a filter, in the order of their ids. */

import type { CompiledFilter } from "../../api/filter/compile.js";
import { plainResults } from "../../api/served-index.js";
import { run } from "../../engine/threads/run.js";
import { readItems } from "../../query/read-items.js";
import { filterDigest, type MatchingRows, pinMatching, unpinMatching } from "../../query/row-filter.js";
import { bySegment, type OpenSegment, type RowRef, type Snapshot } from "../../query/snapshot/snapshot.js";
import { type CachedValue, type CacheKey, namedKey } from "../../state/cache/cache-group.js";
import { hasRow } from "../../state/segment/row-bits.js";
import { type IdRange, type LiveId, liveIds } from "./live-ids.js";

/** A live row and the id of its item. */
export interface RowWithId extends RowRef {
  readonly id: string;
}

/** Matching rows up to which they are found first and sorted then; of more, all ids are gone through. */
const sortedMax = 2048;
/** Ids that are looked up at a time. */
const idsTogether = 4096;
/** Bytes of memory of a row with its id, besides the id's characters. */
const rowBytes = 128;

/** Rows of segments as bits, and how many. They lie in the heap and stay valid. */
export type MatchingSegments = ReadonlyMap<OpenSegment, Pick<MatchingRows, "bits" | "count">>;

export async function matchingSegments(
  snapshot: Snapshot,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<MatchingSegments> {
  const found = new Map<OpenSegment, Pick<MatchingRows, "bits" | "count">>();
  for (const segment of snapshot.segments) {
    signal?.throwIfAborted();
    found.set(segment, await pinMatching(segment.reader, filter, signal));
    unpinMatching(segment.reader, filter);
  }
  return found;
}

/** Calls `visit` with each live row that matches. */
export async function forEachMatch(
  snapshot: Snapshot,
  matching: MatchingSegments,
  visit: (ref: RowRef) => void,
): Promise<void> {
  for (const [segment, { bits, count }] of matching) {
    if (count === 0) continue;
    await snapshot.forEachEntry(
      segment,
      // A tombstone's row is beyond all bits.
      (row) => hasRow(bits, row),
      (entry) => visit({ segment, row: entry[4] }),
    );
  }
}

/** How many items match. */
export async function countMatches(
  snapshot: Snapshot,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<number> {
  let count = 0;
  await forEachMatch(snapshot, await matchingSegments(snapshot, filter, signal), () => count++);
  return count;
}

export interface RowRange extends IdRange {
  readonly filter?: CompiledFilter | undefined;
}

/** The rows in pieces. */
export async function* rowsById(
  snapshot: Snapshot,
  { filter, after, wanted, signal }: RowRange,
): AsyncGenerator<readonly RowWithId[]> {
  const matching = filter && (await matchingSegments(snapshot, filter, signal));
  if (filter !== undefined && matching !== undefined) {
    const rows = await sortedMatches(snapshot, filter, matching);
    if (rows !== undefined) {
      yield after === undefined ? rows : rows.filter(({ id }) => id > after);
      return;
    }
  }
  const range = { after, wanted: filter === undefined ? wanted : idsTogether, signal };
  for await (const ids of liveIds(snapshot, range)) yield await locate(ids, matching);
}

interface SortedRows extends CachedValue {
  readonly rows: readonly RowWithId[];
}

/** All matches, if they are few enough. Kept with the snapshot: usually the next page follows. */
async function sortedMatches(
  snapshot: Snapshot,
  filter: CompiledFilter,
  matching: MatchingSegments,
): Promise<readonly RowWithId[] | undefined> {
  let most = 0;
  for (const { count } of matching.values()) most += count;
  if (most > sortedMax) return undefined;
  const key = namedKey<SortedRows>(`sorted matches of ${filterDigest(filter)}`);
  const [sorted] = await snapshot.cache.load<SortedRows, CacheKey<SortedRows>>([key], async () => [
    await sortMatches(snapshot, matching),
  ]);
  return sorted.rows;
}

async function sortMatches(snapshot: Snapshot, matching: MatchingSegments): Promise<SortedRows> {
  const refs: RowRef[] = [];
  await forEachMatch(snapshot, matching, (ref) => refs.push(ref));
  const items = await run(readItems(refs, new Set(), plainResults));
  const rows = items.map(({ id }, i) => ({ ...refs[i], id }));
  rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { rows, bytes: rows.reduce((sum, { id }) => sum + rowBytes + 2 * id.length, 0) };
}

/** The rows of these ids, in their order, without those that do not match. */
export async function locate(
  ids: readonly LiveId[],
  matching: MatchingSegments | undefined,
): Promise<RowWithId[]> {
  const rows: (RowWithId | undefined)[] = Array.from({ length: ids.length });
  const numbered = ids.map((live, at) => ({ ...live, at }));
  const lookups = Array.from(bySegment(numbered), async ([segment, group]) => {
    const found = await segment.reader.find(
      group.map(({ fingerprint }) => new Uint8Array(fingerprint.buffer)),
    );
    const bits = matching?.get(segment)?.bits;
    group.forEach(({ id, at }, i) => {
      if (bits === undefined || hasRow(bits, found[i])) rows[at] = { id, segment, row: found[i] };
    });
  });
  await Promise.all(lookups);
  return rows.filter((row) => row !== undefined);
}
