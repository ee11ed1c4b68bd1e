/** Trains an index: learns a model from a sample, and groups every row by its lists. */

import type { Metric } from "../engine/config.js";
import { keepsCodesOnly } from "../engine/coded.js";
import { toListSpace } from "../engine/metric.js";
import type { QuantizerModel, Model } from "../engine/model.js";
import { samplePositions, seededRandom } from "../engine/random.js";
import { extendQuantizer, trainQuantizer } from "../engine/train-quantizer.js";
import { rowsPerListMin, rowsPerListSampled, trainModel } from "../engine/train.js";
import { SealdexError } from "../errors.js";
import type { TrainingProgress, TrainOptions } from "../vector-index.js";
import { run } from "../threads/run.js";
import { liveBlocks, liveVectors } from "./live-blocks.js";
import { type Manifest, modelRefs, type ObjectRef, type SegmentRef } from "../commit/manifest.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";
import { commitRewrite, replaceSegments, rewrite } from "./rewrite.js";
import type { Snapshot } from "../search/snapshot.js";

const seed = 0x5ea1;
/** Bounds the memory of a sample, unless the lists need more to begin with. */
const sampleBytesMax = 256 * 1024 * 1024;
const attemptsMax = 5;
/** Times the rows that a quantizer was learned from. */
const growthMin = 4;
/** Large, so that lists are in few pieces: each piece is a block more for a query to open. */
const segmentBytes = 128 * 1024 * 1024;

/**
 * `nLists` is honoured; without it the index's own number is, as far as the rows support it.
 * Throws `invalid_request` where there are fewer rows than lists.
 */
export async function train(index: OpenIndex, options: TrainOptions): Promise<void> {
  await index.rewriting.hold(options.signal, async () => {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) if (await trainOnce(index, options)) return;
    throw new SealdexError(
      "storage_unavailable",
      `train: other processes rewrote the index ${attemptsMax} times meanwhile`,
    );
  });
}

/** False where another process rewrote segments at the same time: nothing was changed then. */
async function trainOnce(index: OpenIndex, options: TrainOptions): Promise<boolean> {
  const snapshot = await index.snapshots.newest();
  try {
    return await trainOn(index, snapshot, options);
  } catch (error) {
    if (await index.snapshots.wasSuperseded(snapshot.manifest, error)) return false;
    throw error;
  }
}

async function trainOn(
  index: OpenIndex,
  snapshot: Snapshot,
  { nLists, onProgress, signal }: TrainOptions,
): Promise<boolean> {
  signal?.throwIfAborted();
  const report = (phase: TrainingProgress["phase"]) => (done: number, total: number) =>
    onProgress?.({ phase, done, total });
  const dimension = dimensionOf(index, snapshot.manifest);
  const rows = await snapshot.count();
  if (rows === 0 || dimension === undefined) {
    throw new SealdexError("invalid_request", "train: expected an index with items, got an empty one");
  }
  if (nLists !== undefined && nLists > rows) {
    throw new SealdexError(
      "invalid_request",
      `nLists: expected at most the ${rows} items there are, got ${nLists}`,
    );
  }
  const lists = nLists ?? Math.min(index.config.nLists, Math.max(1, Math.floor(rows / rowsPerListMin)));
  const { metric } = index.config;
  const sample = await takeSample(snapshot, dimension, rows, lists, metric, report("sample"), signal);
  const learned = await run(trainModel(sample, dimension, lists, seed, report("cluster")), signal);
  const quantizer = keepsCodesOnly(index.config)
    ? await learnQuantizer(index, snapshot.model?.quantizer, sample, learned, rows, signal)
    : undefined;
  const model = quantizer === undefined ? learned : { ...learned, quantizer };

  const modelRef = { ...(await index.writer.storeModel(model, signal)), items: rows };
  const storing = rewrite(
    index,
    snapshot,
    snapshot.segments,
    dimension,
    { model, name: modelRef.name },
    [],
    segmentBytes,
    { signal, onRows: (done) => report("store")(done, rows) },
  );
  const stored = await storing.catch(async (error: unknown) => {
    await index.store.delete([modelRef.name]);
    throw error;
  });
  const committed = await commitRewrite(index, [...stored, modelRef], (latest) => {
    const replaced = signal?.aborted ? null : replaceSegments(latest, snapshot.manifest.segments, stored);
    if (replaced === null) return null;
    const { older, dropped } = olderModels(index, latest, replaced.segments);
    const garbage = [...replaced.garbage, ...dropped.map(({ name }) => name)];
    return { ...latest, segments: replaced.segments, garbage, model: modelRef, olderModels: older };
  });
  if (committed === null) signal?.throwIfAborted();
  return committed !== null;
}

/**
 * What codes mean from now on. Rows that are codes keep them as they are: coding them again would round what is rounded
 * already. So a quantizer stays, and once the index has grown so much that most rows are newer it is extended for rows to come.
 */
async function learnQuantizer(
  { config }: OpenIndex,
  known: QuantizerModel | undefined,
  points: Float32Array,
  lists: Model,
  rows: number,
  signal: AbortSignal | undefined,
): Promise<QuantizerModel> {
  if (known === undefined) return run(trainQuantizer(config, points, lists, rows), signal);
  if (rows < growthMin * known.rows) return known;
  return run(extendQuantizer(config, known, points, lists, rows), signal);
}

/** Models that `segments`, written meanwhile under one of them, cannot be read without; and those that nobody needs. */
function olderModels(index: OpenIndex, latest: Manifest, segments: readonly SegmentRef[]) {
  const named = new Set(keepsCodesOnly(index.config) ? segments.map((segment) => segment.model) : []);
  const needed = ({ name }: ObjectRef) => named.has(name);
  const refs = modelRefs(latest);
  return { older: refs.filter(needed), dropped: refs.filter((ref) => !needed(ref)) };
}

/** Randomly chosen rows in list space, layout (n, dimension). */
async function takeSample(
  snapshot: Snapshot,
  dimension: number,
  rows: number,
  lists: number,
  metric: Metric,
  onRows: (done: number, total: number) => void,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const affordable = Math.floor(sampleBytesMax / (4 * dimension));
  const size = Math.min(rows, Math.max(lists, Math.min(lists * rowsPerListSampled, affordable)));
  const positions = samplePositions(seededRandom(seed), rows, size);
  const sample = new Float32Array(size * dimension);
  let seen = 0;
  let taken = 0;
  for await (const live of liveBlocks(snapshot, snapshot.segments)) {
    signal?.throwIfAborted();
    const n = live.kept.length;
    const wanted: number[] = [];
    while (taken < size && positions[taken] < seen + n) wanted.push(live.kept[positions[taken++] - seen]);
    if (wanted.length > 0) {
      const points = toListSpace(metric, liveVectors({ ...live, kept: wanted }), dimension);
      sample.set(points, (taken - wanted.length) * dimension);
    }
    seen += n;
    onRows(seen, rows);
  }
  return sample;
}
