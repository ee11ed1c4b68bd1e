/** The rows that a model is learned from. */

import { toListSpace } from "../engine/metric.js";
import { samplePositions, seededRandom } from "../engine/random.js";
import { noList } from "../engine/second-lists.js";
import { rowsPerListSampled } from "../engine/train.js";
import { rowsOfPiece } from "../engine/work.js";
import type { Snapshot } from "../search/snapshot.js";
import { yieldToEventLoop } from "../threads/yield-to-event-loop.js";
import type { OpenIndex } from "./open-index.js";
import { type LiveBlock, liveBlocks, liveVectors } from "./live-blocks.js";

/** Bounds the memory of a sample, unless the lists need more to begin with. */
const sampleBytesMax = 256 * 1024 * 1024;

/** Multiply-adds per component that drawing a vector takes. */
const drawnCost = 400;

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
  readonly dimension: number;
  /** The list of the index's model that each is stored in; `noList` if it is not grouped by that. */
  readonly storedIn: Uint32Array;
  /** Rows of the index that could have been chosen, as far as those that were tell. */
  readonly rows: number;
}

/**
 * Randomly chosen live rows. Rows in namespaces are not among them: a model that holds averages of them would outlive their erasure. Nor are zero
 * vectors under `cosine`, unless there is nothing else: they have no direction, so in list space they are nearer to most rows than neighbours are. Of
 * codes, the sample has random vectors that may have had these: decoded ones are nearer to one another, and to lists, than queries will be.
 */
export async function takeSample(
  { config }: OpenIndex,
  snapshot: Snapshot,
  { rows, lists, dimension }: SampleSize,
  { seed, signal, onRows }: SampleOptions,
): Promise<TakenSample> {
  const affordable = Math.floor(sampleBytesMax / (4 * dimension));
  const size = Math.min(rows, Math.max(lists, Math.min(lists * rowsPerListSampled, affordable)));
  const random = seededRandom(seed);
  const positions = samplePositions(random, rows, size);
  const sample = new Float32Array(size * dimension);
  const storedIn = new Uint32Array(size).fill(noList);
  let seen = 0;
  let chosen = 0;
  let taken = 0;
  for await (const live of liveBlocks(snapshot, snapshot.unnamed)) {
    signal?.throwIfAborted();
    const n = live.kept.length;
    const wanted: number[] = [];
    while (chosen < size && positions[chosen] < seen + n) wanted.push(live.kept[positions[chosen++] - seen]);
    if (wanted.length > 0) {
      const points = toListSpace(
        config.metric,
        await drawn({ ...live, kept: wanted }, dimension, random),
        dimension,
      );
      const isGrouped = live.segment.ref.model === snapshot.manifest.model?.name;
      for (let start = 0; start < points.length; start += dimension) {
        const point = points.subarray(start, start + dimension);
        if (config.metric === "cosine" && point.every((value) => value === 0)) continue;
        sample.set(point, taken * dimension);
        if (isGrouped) storedIn[taken] = live.block.list;
        taken++;
      }
    }
    seen += n;
    onRows(seen);
  }
  const left = Math.max(1, taken);
  return {
    points: sample.subarray(0, left * dimension),
    dimension,
    storedIn: storedIn.subarray(0, left),
    rows: Math.round((rows * left) / size),
  };
}

/** The vectors of these rows; of codes alone, random ones that may have had them. */
async function drawn(live: LiveBlock, dimension: number, random: () => number): Promise<Float32Array> {
  const { segment, block, kept, codes } = live;
  const { codec } = segment.reader;
  if (codec.kind !== "codes") return liveVectors(live);
  const vectors = new Float32Array(kept.length * dimension);
  const together = rowsOfPiece(4 * dimension, drawnCost * dimension);
  for (let first = 0; first < kept.length; first += together) {
    const rows = codec.unpack(codes, block.rows, kept.slice(first, first + together));
    vectors.set(codec.decodeRows(rows, random), first * dimension);
    await yieldToEventLoop();
  }
  return vectors;
}
