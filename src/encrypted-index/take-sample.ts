/** The rows that a model is learned from. */

import { toListSpace } from "../engine/metric.js";
import { samplePositions, seededRandom } from "../engine/random.js";
import { noList } from "../engine/second-lists.js";
import { rowsPerListSampled } from "../engine/train.js";
import type { Snapshot } from "../search/snapshot.js";
import type { OpenIndex } from "./open-index.js";
import { liveBlocks, liveVectors } from "./live-blocks.js";

/** Bounds the memory of a sample, unless the lists need more to begin with. */
const sampleBytesMax = 256 * 1024 * 1024;

export interface SampleSize {
  /** Live rows of the snapshot that are in no namespace. */
  readonly rows: number;
  /** Lists to learn. */
  readonly lists: number;
  readonly dimension: number;
}

export interface SampleOptions {
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of rows that were looked at. */
  readonly onRows: (done: number) => void;
}

/** Rows of an index. */
export interface TakenSample {
  /** In list space, layout (n, dimension). */
  readonly points: Float32Array;
  /** The list of the index's model that each is stored in; `noList` if it is not grouped by that. */
  readonly storedIn: Uint32Array;
}

/**
 * Randomly chosen live rows. Rows in namespaces are not among them: a model that holds averages
 * of them would outlive their erasure.
 */
export async function takeSample(
  { config }: OpenIndex,
  snapshot: Snapshot,
  { rows, lists, dimension }: SampleSize,
  { seed, signal, onRows }: SampleOptions,
): Promise<TakenSample> {
  const affordable = Math.floor(sampleBytesMax / (4 * dimension));
  const size = Math.min(rows, Math.max(lists, Math.min(lists * rowsPerListSampled, affordable)));
  const positions = samplePositions(seededRandom(seed), rows, size);
  const sample = new Float32Array(size * dimension);
  const storedIn = new Uint32Array(size).fill(noList);
  let seen = 0;
  let taken = 0;
  for await (const live of liveBlocks(snapshot, snapshot.unnamed)) {
    signal?.throwIfAborted();
    const n = live.kept.length;
    const wanted: number[] = [];
    while (taken < size && positions[taken] < seen + n) wanted.push(live.kept[positions[taken++] - seen]);
    if (wanted.length > 0) {
      const points = toListSpace(config.metric, liveVectors({ ...live, kept: wanted }), dimension);
      sample.set(points, (taken - wanted.length) * dimension);
      const isGrouped = live.segment.ref.model === snapshot.manifest.model?.name;
      if (isGrouped) storedIn.fill(live.block.list, taken - wanted.length, taken);
    }
    seen += n;
    onRows(seen);
  }
  return { points: sample, storedIn };
}
