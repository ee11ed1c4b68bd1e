/** Trains an index: learns a model from a sample, and groups every row by its lists. */

import { rowsPerListMin, rowsPerListSampled, trainModel } from "../engine/train.js";
import { toListSpace } from "../engine/metric.js";
import { samplePositions, seededRandom } from "../engine/random.js";
import { SealdexError } from "../errors.js";
import type { OpenIndex } from "./open-index.js";
import { drive } from "./breathe.js";
import { commitRewrite, liveBlocks, replaceSegments, rewrite } from "./rewrite.js";
import type { Snapshot } from "./snapshot.js";

const seed = 0x5ea1;
/** Bounds the memory of a sample, unless the lists need more to begin with. */
const sampleBytesMax = 256 * 1024 * 1024;
const attemptsMax = 5;
/** Large, so that lists are in few pieces: each piece is a block more for a query to open. */
const segmentBytes = 128 * 1024 * 1024;

/**
 * `nLists` is honoured; without it the index's own number is, as far as the rows support it.
 * Throws `invalid_request` where there are fewer rows than lists.
 */
export async function train(
  index: OpenIndex,
  nLists: number | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (index.config.type !== "ivfflat") {
    throw new SealdexError(
      "not_supported",
      `train: this version trains indexes of type ivfflat, not ${index.config.type}`,
    );
  }
  await index.whileRewriting(signal, async () => {
    for (let attempt = 1; attempt <= attemptsMax; attempt++)
      if (await trainOnce(index, nLists, signal)) return;
    throw new SealdexError(
      "storage_unavailable",
      `train: other processes rewrote the index ${attemptsMax} times meanwhile`,
    );
  });
}

/** False where another process rewrote segments at the same time: nothing was changed then. */
async function trainOnce(
  index: OpenIndex,
  nLists: number | undefined,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const snapshot = await index.snapshot();
  try {
    return await trainOn(index, snapshot, nLists, signal);
  } catch (error) {
    if (await index.isOutlived(snapshot.manifest, error)) return false;
    throw error;
  }
}

async function trainOn(
  index: OpenIndex,
  snapshot: Snapshot,
  nLists: number | undefined,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const dimension = index.dimension(snapshot.manifest);
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
  const sample = await takeSample(snapshot, dimension, rows, lists, signal);
  const points = toListSpace(index.config.metric, sample, dimension);
  const model = await drive(trainModel(points, dimension, lists, seed), signal);

  const modelRef = await index.storeModel(model, signal);
  const stored = await rewrite(
    index,
    snapshot,
    snapshot.segments,
    dimension,
    { model, name: modelRef.name },
    [],
    segmentBytes,
    signal,
  );
  const committed = await commitRewrite(index, [...stored, modelRef], (latest) => {
    const replaced = signal?.aborted ? null : replaceSegments(latest, snapshot.manifest.segments, stored);
    if (replaced === null) return null;
    const garbage = [...replaced.garbage, ...(latest.model ? [latest.model.name] : [])];
    return { ...latest, segments: replaced.segments, garbage, model: modelRef };
  });
  if (committed === null) signal?.throwIfAborted();
  return committed !== null;
}

/** Vectors of randomly chosen rows, layout (n, dimension). */
async function takeSample(
  snapshot: Snapshot,
  dimension: number,
  rows: number,
  lists: number,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const affordable = Math.floor(sampleBytesMax / (4 * dimension));
  const size = Math.min(rows, Math.max(lists, Math.min(lists * rowsPerListSampled, affordable)));
  const positions = samplePositions(seededRandom(seed), rows, size);
  const sample = new Float32Array(size * dimension);
  let seen = 0;
  let taken = 0;
  for await (const { vectors } of liveBlocks(snapshot, snapshot.segments)) {
    signal?.throwIfAborted();
    const n = vectors.length / dimension;
    for (; taken < size && positions[taken] < seen + n; taken++) {
      const start = (positions[taken] - seen) * dimension;
      sample.set(vectors.subarray(start, start + dimension), taken * dimension);
    }
    seen += n;
  }
  return sample;
}
