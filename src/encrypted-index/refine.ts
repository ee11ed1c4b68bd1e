/**
 * Refines the model of an index that has grown a little since it was trained: splits some lists and dissolves others (see engine/refine.ts), and
 * writes only the rows of these lists and what is newest.
 */

import type { Manifest } from "../commit/manifest.js";
import { keepsCodesOnly } from "../engine/coded.js";
import { listCount, type Model } from "../engine/model.js";
import { refineModel } from "../engine/refine.js";
import { SealdexError } from "../errors.js";
import type { Snapshot } from "../search/snapshot.js";
import { run } from "../threads/run.js";
import { adoptRefined, rowsToWrite, writtenBy } from "./adopt-refined.js";
import type { OpenIndex } from "./open-index.js";
import { takeSample } from "./take-sample.js";
import { type Attempt, takeTurns } from "./take-turns.js";
import { regroupLarge, sampleSize, seed } from "./train.js";
import { publishTraining } from "./training-channel.js";

const attemptsMax = 5;
/** The share of an index's rows from which on writing them anew is no cheaper than a training, which finds better lists. */
const writtenShareMax = 1 / 2;

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
  const sample = await takeSample(index, snapshot, size, {
    seed,
    signal,
    onRows: () => undefined,
  });
  const { config } = index;
  const of = { ...sample, metric: config.metric, spills: config.spilling !== false };
  const nListsMax = Math.min(size.lists, grown(known, size.rows / manifest.model.items));
  const refined = await run(refineModel(of, sample.storedIn, known, { nListsMax, seed }), signal);
  const written = writtenBy(snapshot, refined.changed);
  if (rowsToWrite(written) > writtenShareMax * size.rows) return "too much";
  const items = size.rows;
  return (await adoptRefined(index, snapshot, { ...refined, items, written }, { signal, turn })) && "refined";
}

/** The number of lists of a model that has grown with the index. */
function grown(model: Model, growth: number): number {
  return Math.floor(listCount(model) * Math.max(1, growth));
}
