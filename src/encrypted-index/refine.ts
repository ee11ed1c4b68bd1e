/**
 * Refines the model of an index that has grown a little since it was trained: splits and dissolves some lists (see engine/refine.ts), and writes only the
 * rows of these lists and what is newest.
 *
 * Rows that move take the place of the newest segments, together with those, and at their sequence. So they hide their copies in older segments,
 * and whatever was written since the snapshot hides them. The older segments stay, without the lists that they lost (`vacated`).
 */

import { type Manifest, rowsLeft, type SegmentRef } from "../commit/manifest.js";
import { vacate, vacatedIn } from "../commit/vacated-lists.js";
import { keepsCodesOnly } from "../engine/coded.js";
import { listCount, type Model } from "../engine/model.js";
import { refineModel } from "../engine/refine.js";
import { SealdexError } from "../errors.js";
import type { OpenSegment, Snapshot } from "../search/snapshot.js";
import { addRow, noRows } from "../segment/row-bits.js";
import { run } from "../threads/run.js";
import { wholeSegmentBytes } from "./compact.js";
import type { OpenIndex } from "./open-index.js";
import { type AlsoChange, commitRewrite, rewrite } from "./rewrite.js";
import { takeSample } from "./take-sample.js";
import { type Attempt, takeTurns } from "./take-turns.js";
import { olderModels, regroupLarge, sampleSize, seed } from "./train.js";
import { publishTraining } from "./training-channel.js";

const attemptsMax = 5;
/** The share of an index's rows from which on writing them anew is no cheaper than a training, which finds better lists. */
const writtenShareMax = 1 / 2;

/** What a refinement writes anew. */
interface Written {
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

/**
 * Whether the model of an index can be refined: not if rows are codes alone, which are relative to the centroids of their first lists, and not if
 * some are in namespaces, each of which would have to be written anew.
 */
export function isRefinable({ config }: OpenIndex, { model, segments }: Manifest): boolean {
  return (
    model !== undefined &&
    !keepsCodesOnly(config) &&
    segments.every(({ namespace }) => namespace === undefined)
  );
}

/**
 * Returns whether the index was refined: not if that would write so much that a training is better, or if it cannot be. Throws
 * `storage_unavailable` if other processes rewrite the newest segments all the time.
 */
export async function refine(index: OpenIndex, signal?: AbortSignal): Promise<boolean> {
  let isRefined = false;
  await publishTraining(index.indexName, () =>
    index.rewriting.rewrite(signal, async () => {
      const attempt: Attempt<"refined" | "too much"> = (turn) =>
        index.snapshots.readNewest((snapshot) => refineOn(index, snapshot, signal, turn));
      const outcome = await takeTurns(index, attempt, attemptsMax);
      if (outcome === null) {
        throw new SealdexError(
          "storage_unavailable",
          `refine: other processes rewrote the index ${attemptsMax} times meanwhile`,
        );
      }
      isRefined = outcome === "refined";
      if (isRefined) await regroupLarge(index, signal).catch(() => undefined);
    }),
  );
  return isRefined;
}

/** Returns null if other processes replaced the same segments first: nothing was changed then. */
async function refineOn(
  index: OpenIndex,
  snapshot: Snapshot,
  signal: AbortSignal | undefined,
  turn: string | undefined,
): Promise<"refined" | "too much" | null> {
  signal?.throwIfAborted();
  const { manifest, model: known } = snapshot;
  if (known === undefined || manifest.model === undefined || !isRefinable(index, manifest)) return "too much";
  index.rewriting.reserve(manifest.segments);
  const size = await sampleSize(index, snapshot, undefined);
  if (size === undefined) return "too much";
  const sample = await takeSample(index, snapshot, size, { seed, signal, onRows: () => undefined });
  const { config } = index;
  const of = { points: sample, metric: config.metric, spills: config.spilling !== false, ...size };
  const nListsMax = Math.min(size.lists, grown(known, size.rows / manifest.model.items));
  const { model, changed } = await run(refineModel(of, known, nListsMax, seed), signal);
  const written = writtenBy(snapshot, changed);
  if (written === undefined) return "too much";

  const modelRef = { ...(await index.writer.storeModel(model, signal)), items: size.rows };
  const plan = {
    snapshot,
    segments: written.newest,
    moved: new Map(written.older.map(({ segment, rows }) => [segment, rows])),
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
    // If other processes replaced some of these, the rows would come below what took their place, and maybe below their older copies.
    const live = new Set(latest.segments.map(({ name }) => name));
    if (!written.newest.every(({ ref }) => live.has(ref.name))) return null;
    const segments = replaced.segments.map((ref): SegmentRef => {
      const lists = staying.get(ref.name);
      return lists === undefined ? ref : { ...ref, model: modelRef.name, vacated: lists };
    });
    const { older, dropped } = olderModels(index, latest, segments);
    const droppedObjects = [...replaced.droppedObjects, ...dropped.map(({ name }) => name)];
    return { ...replaced, segments, droppedObjects, model: modelRef, olderModels: older };
  };
  if ((await commitRewrite(index, replacement, [modelRef], adopt, turn)) !== null) return "refined";
  signal?.throwIfAborted();
  return null;
}

/**
 * Undefined if it would be too much. Of the newest segments so many that those that stay become fewer as they become larger, as in a
 * log-structured merge tree: each run that stays has more rows than what is written.
 */
function writtenBy(snapshot: Snapshot, changed: ReadonlySet<number>): Written | undefined {
  const { manifest, stored } = snapshot;
  const staying = new Map(
    stored
      .filter(({ ref }) => ref.model === manifest.model?.name)
      .map((segment) => [segment, rowsInLists(segment, changed)]),
  );
  const movedOf = (segment: OpenSegment) => staying.get(segment)?.count ?? 0;
  let rows = stored.reduce((sum, segment) => sum + movedOf(segment), 0);
  let first = stored.length;
  while (first > 0) {
    const start = stored.findIndex(({ ref }) => ref.sequence === stored[first - 1].ref.sequence);
    const run = stored.slice(start, first);
    const left = run.reduce((sum, segment) => sum + rowsLeft(segment.ref) - movedOf(segment), 0);
    if (first < stored.length && left > rows) break;
    rows += left;
    first = start;
  }
  const all = stored.reduce((sum, { ref }) => sum + rowsLeft(ref), 0);
  if (rows > writtenShareMax * all) return undefined;
  return {
    newest: stored.slice(first),
    older: stored.slice(0, first).flatMap((segment) => staying.get(segment) ?? []),
  };
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

/** The number of lists of a model that has grown with the index. */
function grown(model: Model, growth: number): number {
  return Math.floor(listCount(model) * Math.max(1, growth));
}
