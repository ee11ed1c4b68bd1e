/** The live rows of segments in batches, each for one or two new segments. */

import type { Model } from "../../engine/model.js";
import type { OpenSegment, Snapshot } from "../../query/snapshot/snapshot.js";
import type { SegmentReader } from "../../state/segment/segment-reader.js";
import type { Batch } from "../../state/segment/segment-writer.js";
import { withEncoding } from "../open/row-encoding.js";
import { type BlockOrder, liveBlocks, type RowSets } from "./live-blocks.js";
import { type Entries, LiveRows } from "./live-rows.js";
import { joinMoved, move, type MovedRows } from "./move-rows.js";
import type { OpenIndex } from "../open/open-index.js";
import { forEachYielding } from "../../async/event-loop.js";

/** Rows per batch: each list is in one segment of a batch, which a query reads by a request of its own; but a batch and the one before are in memory at once. */
export const batchRowsMax = 9 * 2 ** 13;

/** Records that are revised between two looks at the clock: of 64 KiB, a few milliseconds. */
const revisedTogether = 8;

/** The model by whose lists rows are grouped, and its name; neither: they are not grouped. */
export interface TargetModel {
  readonly model?: Model;
  readonly name?: string;
}

/** A change of the records of some rows. */
export interface RowChange {
  readonly rows: RowSets;
  /** The record to store instead of this one; null: the row is left out. */
  revise(record: Uint8Array): Uint8Array | null;
}

export interface RewritePlan {
  readonly snapshot: Snapshot;
  /** Of the snapshot, all or none of each sequence. */
  readonly segments: readonly OpenSegment[];
  readonly target: TargetModel;
  readonly order: BlockOrder;
  /** Vectors and texts of a new segment, about. */
  readonly segmentBytes: number;
  /** Default: all live rows, as they are. */
  readonly change?: RowChange;
}

export interface RowBatch {
  readonly batch: Batch & { readonly source: MovedRows };
  /** Of its vectors and texts. */
  readonly bytes: number;
}

/** From when on a batch is large enough. */
export interface BatchLimits {
  readonly rows: number;
  /** Of vectors and texts. */
  readonly bytes: number;
}

/** Of batches of which each becomes one segment, or two if it has lists to be cut by. */
export function limitsOf({ target, order, segmentBytes }: RewritePlan): BatchLimits {
  const together = target.model !== undefined && order === "by segment" ? 2 : 1;
  return { rows: batchRowsMax, bytes: together * segmentBytes };
}

/** The first batch holds the fingerprints that are `deleted`. */
export async function* liveRowBatches(
  index: OpenIndex,
  plan: RewritePlan,
  dimension: number,
  deleted: readonly Uint8Array[],
  limits = limitsOf(plan),
): AsyncGenerator<RowBatch> {
  const { snapshot, segments, target, order, segmentBytes, change } = plan;
  const { model, name } = target;
  let rows = new LiveRows();
  let movedParts: MovedRows[] = [];
  let bytes = 0;
  let tombstones = deleted;
  const flush = async (): Promise<RowBatch> => {
    const source = await joinMoved(movedParts, dimension);
    const collected = { batch: { dimension, rows, source, deleted: tombstones }, bytes };
    [rows, movedParts, bytes, tombstones] = [new LiveRows(), [], 0, []];
    return collected;
  };
  const readers = new Map<OpenSegment, SegmentParts>();
  let list: number | undefined;
  for await (const found of liveBlocks(snapshot, segments, order, change?.rows)) {
    const { segment, block } = found;
    const { reader } = segment;
    const isLarge = bytes >= limits.bytes || rows.length >= limits.rows;
    // A list of this size is cut. Without a model all rows are one list.
    const isHuge = bytes >= 2 * segmentBytes || rows.length >= 2 * batchRowsMax;
    if (isHuge || (isLarge && (order === "by segment" || block.list !== list))) yield await flush();
    list = block.list;
    // Blocks that were read ahead for earlier segments are not needed any more.
    if (order === "by segment" && !readers.has(segment)) readers.clear();
    const parts = readers.get(segment) ?? {
      records: reader.forward("records"),
      contents: reader.forward("contents"),
    };
    readers.set(segment, parts);
    const places = found.kept.map((row) => block.firstRow + row);
    const [read, contents] = await Promise.all([parts.records(places), parts.contents(places)]);
    const records = change === undefined ? read : await revisedRecords(read, places, change);
    const left = change === undefined ? places : places.filter((row) => records.entry(row) !== null);
    const live = change === undefined ? found : { ...found, kept: left.map((row) => row - block.firstRow) };
    const { fingerprints, kept } = live;
    rows.add({ firstRow: block.firstRow, kept, fingerprints, records, contents });
    const lengthOf = (entry: Uint8Array | null) => entry?.length ?? 0;
    for (const row of left) bytes += lengthOf(records.entry(row)) + lengthOf(contents.entry(row));
    const moved = await withEncoding(index.searcher, dimension, model, (encoding) =>
      move(live, encoding, name),
    );
    movedParts.push(moved);
    bytes += moved.bytes;
  }
  if (rows.length > 0 || tombstones.length > 0) yield await flush();
}

/** Sections that are read of a segment besides its codes. */
interface SegmentParts {
  readonly records: ReturnType<SegmentReader["forward"]>;
  readonly contents: ReturnType<SegmentReader["forward"]>;
}

/** The records of these rows after the change. A block may hold thousands, each of which is parsed and written again. */
async function revisedRecords(
  records: Entries,
  rows: readonly number[],
  change: RowChange,
): Promise<Entries> {
  const revised = new Map<number, Uint8Array | null>();
  const revise = (record: Uint8Array | null) => record && change.revise(record);
  await forEachYielding(
    rows.length,
    (i) => revised.set(rows[i], revise(records.entry(rows[i]))),
    revisedTogether,
  );
  return entriesOf(revised);
}

/** A function of its own: the closures of one function keep alive all values that any of them refers to, here the records before the change. */
function entriesOf(records: ReadonlyMap<number, Uint8Array | null>): Entries {
  return { entry: (row) => records.get(row) ?? null };
}
