/**
 * Adopts a refined model: the rows of lists that changed move to new segments. These take the place of the newest segments, whose rows they
 * hold, too, and their sequence. So they hide the copies of moved rows in older segments, and what was written since the snapshot hides them. The older
 * segments stay as they are, without the lists that they lost (see `vacated`).
 */

import { type Manifest, rowsLeft, type SegmentRef } from "../commit/manifest.js";
import { vacate, vacatedIn } from "../commit/vacated-lists.js";
import type { Refined } from "../engine/refine.js";
import type { OpenSegment, Snapshot } from "../search/snapshot.js";
import { addRow, noRows } from "../segment/row-bits.js";
import { type MergeOptions, wholeSegmentBytes } from "./compact.js";
import type { OpenIndex } from "./open-index.js";
import { type AlsoChange, commitRewrite, rewrite } from "./rewrite.js";
import { olderModels } from "./train.js";

/** What a refinement writes anew. */
export interface Written {
  /** The newest segments, all or none of each sequence. */
  readonly newest: readonly OpenSegment[];
  /** Of older ones that are grouped by the model, and stay, the rows in lists that change. */
  readonly older: readonly MovedRows[];
}

interface MovedRows {
  readonly segment: OpenSegment;
  readonly rows: Uint32Array;
  readonly count: number;
}

/** A refined model of an index. */
export interface RefinedIndex extends Refined {
  /** Items that there are. */
  readonly items: number;
  readonly written: Written;
}

/**
 * Of an index that `isRefinable`. Returns null if other processes replaced the oldest of the newest segments or the model first: nothing was changed
 * then.
 */
export async function adoptRefined(
  index: OpenIndex,
  snapshot: Snapshot,
  { model, changed, items, written }: RefinedIndex,
  { signal, turn }: MergeOptions,
): Promise<Manifest | null> {
  const { manifest } = snapshot;
  const modelRef = { ...(await index.writer.storeModel(model, signal)), items };
  const plan = {
    snapshot,
    segments: written.newest,
    fromOlder: new Map(written.older.map(({ segment, rows }) => [segment, rows])),
    target: { model, name: modelRef.name },
    order: "by segment",
    segmentBytes: wholeSegmentBytes,
  } as const;
  const replacement = await rewrite(index, plan, { signal })
    .finally(() => index.searcher.dropModel(model))
    .catch(async (error: unknown) => {
      await index.store.delete([modelRef.name]);
      throw error;
    });
  const staying = new Map(
    written.older.map(({ segment: { ref }, count }) => [ref.name, vacate(ref, changed, count)]),
  );
  const adopt: AlsoChange = (latest, replaced) => {
    if (signal?.aborted || latest.model?.name !== manifest.model?.name) return null;
    const segments = replaced.segments.map((ref): SegmentRef => {
      const lists = staying.get(ref.name);
      return lists === undefined ? ref : { ...ref, model: modelRef.name, vacated: lists };
    });
    const { older, dropped } = olderModels(index, latest, segments);
    const droppedObjects = [...replaced.droppedObjects, ...dropped.map(({ name }) => name)];
    return { ...replaced, segments, droppedObjects, model: modelRef, olderModels: older };
  };
  const committed = await commitRewrite(index, replacement, [modelRef], adopt, turn);
  if (committed === null) signal?.throwIfAborted();
  return committed;
}

/**
 * What is written if these lists change: of the newest segments so many that those that stay become fewer as they become larger, as in a
 * log-structured merge tree. Each run that stays has more rows than what is written.
 */
export function writtenBy(snapshot: Snapshot, changed: ReadonlySet<number>): Written {
  const { stored } = snapshot;
  const movedOf = (segments: readonly OpenSegment[]) =>
    movedFrom(snapshot, segments, changed).reduce((sum, { count }) => sum + count, 0);
  let rows = movedOf(stored);
  let first = stored.length;
  while (first > 0) {
    const { sequence } = stored[first - 1].ref;
    const start = stored.findIndex(({ ref }) => ref.sequence === sequence);
    const newer = stored.slice(start, first);
    const left = rowsLeftIn(newer) - movedOf(newer);
    if (first < stored.length && left > rows) break;
    rows += left;
    first = start;
  }
  return writtenWith(snapshot, stored.slice(first), changed);
}

/** What is written if these lists change, with these of the newest segments: all or none of each sequence. */
export function writtenWith(
  snapshot: Snapshot,
  newest: readonly OpenSegment[],
  changed: ReadonlySet<number>,
): Written {
  const older = snapshot.stored.slice(0, snapshot.stored.length - newest.length);
  return { newest, older: movedFrom(snapshot, older, changed) };
}

/** The rows that are written, with some that newer ones replaced. */
export function rowsToWrite({ newest, older }: Written): number {
  return rowsLeftIn(newest) + older.reduce((sum, { count }) => sum + count, 0);
}

function rowsLeftIn(segments: readonly OpenSegment[]): number {
  return segments.reduce((sum, { ref }) => sum + rowsLeft(ref), 0);
}

function movedFrom(
  { manifest }: Snapshot,
  segments: readonly OpenSegment[],
  changed: ReadonlySet<number>,
): MovedRows[] {
  return segments
    .filter(({ ref }) => ref.model === manifest.model?.name)
    .map((segment) => rowsInLists(segment, changed));
}

/** The rows of a segment that are in one of these lists, and have not moved before. */
function rowsInLists(segment: OpenSegment, lists: ReadonlySet<number>): MovedRows {
  const { footer } = segment.reader;
  const isVacated = vacatedIn(segment.ref);
  const rows = noRows(footer.rows);
  let count = 0;
  for (const block of footer.codes) {
    if (!lists.has(block.list) || isVacated(block.list)) continue;
    for (let row = block.firstRow; row < block.firstRow + block.rows; row++) addRow(rows, row);
    count += block.rows;
  }
  return { segment, rows, count };
}
