/** Trains an index: learns a model from a sample, and groups every row by its lists. */

import { channel } from "node:diagnostics_channel";
import type { TrainingProgress, TrainOptions } from "../../api/vector-index.js";
import { performance } from "../../async/timers.js";
import { keepsCodesOnly } from "../../engine/codes/coded.js";
import type { Model } from "../../engine/model.js";
import { run } from "../../engine/threads/run.js";
import { rowsPerListMin, trainModel } from "../../engine/training/train.js";
import { SealdexError } from "../../errors.js";
import type { Snapshot } from "../../query/snapshot/snapshot.js";
import type { SegmentRef } from "../../state/commit/manifest.js";
import { isForeign, regroup } from "../maintenance/compact.js";
import { type AlsoChange, commitRewrite, rewrite } from "../maintenance/rewrite.js";
import { isLargeSegment } from "../open/merge-policy.js";
import { dimensionOf } from "../open/dimension.js";
import type { OpenIndex } from "../open/open-index.js";
import { type Attempt, retryWithReservation } from "../open/retry-with-reservation.js";
import { type SampleSize, takeSample } from "./take-sample.js";

/** Of samples and k-means. */
const seed = 0x5ea1;
const attemptsMax = 5;
/** How often rows that were written meanwhile are grouped, too: each time there are fewer. */
const regroupingsMax = 3;
/** Large, so that lists are in few pieces: each piece is a block more for a query to open. */
const segmentBytes = 128 * 1024 * 1024;

/**
 * `nLists` is honored; without it the index's own number is, as far as the rows support it. Rows that are written meanwhile
 * are grouped by later writes, or here if they are too many for that.
 * There are never more lists than rows in the sample, of which zero vectors under `cosine` are no part. Without any, the index stays as it is.
 * Throws `storage_unavailable` if other processes rewrite the whole index all the time.
 */
export async function train(index: OpenIndex, options: TrainOptions): Promise<void> {
  await publishTraining(index.reportedName, () => trainAlone(index, options));
}

/** While no other rewriting of this process runs. */
async function trainAlone(index: OpenIndex, options: TrainOptions): Promise<void> {
  await index.rewriting.rewrite(options.signal, async () => {
    const attempt: Attempt<true> = (reservation) =>
      index.snapshots.readNewest((snapshot) => trainOn(index, snapshot, options, reservation));
    if ((await retryWithReservation(index, attempt, attemptsMax)) === null) {
      throw new SealdexError(
        "storage_unavailable",
        `train: other processes rewrote the index ${attemptsMax} times meanwhile`,
      );
    }
    // The training counts already: if this fails, those rows stay as they are, which is right but slower to search.
    await regroupLarge(index, options.signal).catch(() => undefined);
  });
}

/** Returns null if other processes replaced the same segments first: nothing was changed then. */
async function trainOn(
  index: OpenIndex,
  snapshot: Snapshot,
  { nLists, onProgress, signal }: TrainOptions,
  reservation: string | undefined,
): Promise<true | null> {
  signal?.throwIfAborted();
  const { manifest } = snapshot;
  index.rewriting.reserve(manifest.segments);
  const report = (phase: TrainingProgress["phase"]) => (done: number, total: number) =>
    onProgress?.({ phase, done, total });
  const size = await sampleSize(index, snapshot, nLists);
  if (size === undefined) return true;
  const { rows } = size;
  const stored = await snapshot.count();
  const model = await learnModel(index, snapshot, size, report, signal);
  if (model === undefined) return true;
  const modelRef = { ...(await index.writer.storeModel(model, signal)), items: rows };
  const target = { model, name: modelRef.name };
  const plan = {
    snapshot,
    segments: snapshot.stored,
    target,
    order: "by segment",
    segmentBytes,
  } as const;
  // Searches open the model as it is stored: this one is of no use in kernel memory any more.
  const rewriting = rewrite(index, plan, {
    signal,
    onRows: (done) => report("store")(done, stored),
  }).finally(() => index.searcher.dropModel(model));
  const replacement = await rewriting.catch(async (error: unknown) => {
    await index.store.delete([modelRef.name]);
    throw error;
  });
  const adopt: AlsoChange = (latest, replaced) => {
    // Another training was first.
    if (signal?.aborted || latest.model?.name !== manifest.model?.name) return null;
    const dropped = latest.model === undefined ? [] : [latest.model.name];
    return { ...replaced, droppedObjects: [...replaced.droppedObjects, ...dropped], model: modelRef };
  };
  if ((await commitRewrite(index, replacement, [modelRef], adopt, reservation)) !== null) return true;
  signal?.throwIfAborted();
  return null;
}

/**
 * By itself, so that the sample is not in memory any more when rows are rewritten. Undefined if there is nothing to learn from: codes by
 * such a model would say nothing of any row.
 */
async function learnModel(
  index: OpenIndex,
  snapshot: Snapshot,
  size: SampleSize,
  report: (phase: TrainingProgress["phase"]) => (done: number, total: number) => void,
  signal: AbortSignal | undefined,
): Promise<Model | undefined> {
  const { config } = index;
  const { rows } = size;
  const seen = report("sample");
  const sample = await takeSample(index, snapshot, size, {
    seed,
    signal,
    onRows: (done) => seen(done, rows),
  });
  if (sample.points.length === 0) return undefined;
  const spills = !keepsCodesOnly(config) && config.spilling !== false;
  // Zero vectors, which are no part of a sample, may be most rows.
  const lists = Math.min(size.lists, sample.points.length / size.dimension);
  const { known, ...rowsOf } = sample;
  const coding = keepsCodesOnly(config) ? { config, known } : undefined;
  const of = { ...rowsOf, metric: config.metric, spills, coding };
  return run(trainModel(of, lists, seed, report("cluster")), signal);
}

/** Undefined if there is nothing to learn from. */
async function sampleSize(
  index: OpenIndex,
  snapshot: Snapshot,
  nLists: number | undefined,
): Promise<SampleSize | undefined> {
  const dimension = dimensionOf(index, snapshot.manifest);
  const rows = await snapshot.countIn(snapshot.unnamed);
  if (rows === 0 || dimension === undefined) return undefined;
  const listsByDefault = Math.min(index.config.nLists, Math.max(1, Math.floor(rows / rowsPerListMin)));
  return { rows, lists: Math.min(nLists ?? listsByDefault, rows), dimension };
}

/** Groups rows that were written during the training by the new lists, as long as there are segments that no write merges. */
async function regroupLarge(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  for (let round = 0; round < regroupingsMax; round++) {
    const isDone = await index.snapshots.readNewest(async (snapshot) => {
      const { manifest } = snapshot;
      const isLeft = (segment: SegmentRef) => isForeign(segment, manifest) && isLargeSegment(segment);
      if (!manifest.segments.some(isLeft)) return true;
      return (await regroup(index, snapshot, { signal })) === null;
    });
    if (isDone) return;
  }
}

// Tells other parts of the process which indexes are trained, on the diagnostics channel `sealdex:training`: a message
// `{ indexName, state, ms }` when a training starts, with the state `started`, and when it ends, with `done` or `failed`. `ms` is how
// long it took. The channel costs nothing without subscribers.

const trainings = channel("sealdex:training");

/** Runs a training and publishes when it starts and ends. */
async function publishTraining(indexName: string, work: () => Promise<void>): Promise<void> {
  if (!trainings.hasSubscribers) return work();
  const startedAt = performance.now();
  const publish = (state: string) =>
    trainings.publish({ indexName, state, ms: performance.now() - startedAt });
  publish("started");
  let state = "failed";
  try {
    await work();
    state = "done";
  } finally {
    publish(state);
  }
}
