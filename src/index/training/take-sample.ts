/** The rows that a model is learned from. */

import { toListSpace } from "../../engine/metric.js";
import { isCodedModel } from "../../engine/model.js";
import { samplePositions, seededRandom } from "../../engine/random.js";
import { type KnownCodes, rowsPerListSampled } from "../../engine/training/train.js";
import { rowsOfPiece } from "../../engine/work.js";
import type { Snapshot } from "../../query/snapshot/snapshot.js";
import { yieldToEventLoop } from "../../async/event-loop.js";
import { withEncoding } from "../open/row-encoding.js";
import { type LiveBlock, liveBlocks, liveVectors } from "../maintenance/live-blocks.js";
import { type CodedEncoding, isCoded, moveCodes } from "../maintenance/move-rows.js";
import type { OpenIndex } from "../open/open-index.js";

/** Multiply-adds per component that drawing a vector takes. */
const drawnCost = 400;
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

/** Rows of an index; none if all are zero vectors under `cosine`. */
export interface TakenSample {
  /** In list space, layout (n, dimension). */
  readonly points: Float32Array;
  readonly dimension: number;
  /** Rows of the index that could have been chosen, as far as those that were tell. */
  readonly rows: number;
  /** If the index keeps codes alone. */
  readonly known: KnownCodes | undefined;
}

/**
 * Randomly chosen live rows. Rows in namespaces are not among them: a model that holds averages of them would outlive their erasure. Nor are zero
 * vectors under `cosine`: they have no direction, so in list space they are nearer to most rows than neighbors are. Of
 * codes, the sample has random vectors that may have had these codes: decoded ones are nearer to one another, and to lists, than queries
 * will be.
 */
export async function takeSample(
  index: OpenIndex,
  snapshot: Snapshot,
  size: SampleSize,
  options: SampleOptions,
): Promise<TakenSample> {
  const { model } = snapshot;
  if (model === undefined || !isCodedModel(model)) return takeRows(index, snapshot, size, options);
  return withEncoding(index.searcher, size.dimension, model, (encoding) =>
    takeRows(index, snapshot, size, options, isCoded(encoding) ? encoding : undefined),
  );
}

/** Rows of a block, with codes if they are stored as codes alone. */
interface SampledBlock {
  /** Layout (rows, dimension). */
  readonly vectors: Float32Array;
  /** Layout (rows, row code). */
  readonly codes?: Uint8Array;
}

/** `encoding`: of rows that are codes. */
async function takeRows(
  { config }: OpenIndex,
  snapshot: Snapshot,
  { rows, lists, dimension }: SampleSize,
  { seed, signal, onRows }: SampleOptions,
  encoding?: CodedEncoding,
): Promise<TakenSample> {
  const affordable = Math.floor(sampleBytesMax / (4 * dimension));
  const size = Math.min(rows, Math.max(lists, Math.min(lists * rowsPerListSampled, affordable)));
  const random = seededRandom(seed);
  const positions = samplePositions(random, rows, size);
  const sample = new Float32Array(size * dimension);
  const rowBytes = encoding?.codec.rowBytes ?? 0;
  const codes = new Uint8Array(size * rowBytes);
  const modelName = snapshot.manifest.model?.name;
  let seen = 0;
  let chosen = 0;
  let wanted = 0;
  let taken = 0;
  for await (const live of liveBlocks(snapshot, snapshot.unnamed)) {
    signal?.throwIfAborted();
    const kept = live.kept.filter((_, i) => {
      const isChosen = positions[chosen] === seen + i;
      if (isChosen) chosen++;
      return isChosen;
    });
    seen += live.kept.length;
    wanted += kept.length;
    if (kept.length > 0) {
      const own = { ...live, kept };
      const block: SampledBlock =
        encoding === undefined
          ? { vectors: liveVectors(own) }
          : await drawBlock(own, encoding, modelName, random);
      const points = toListSpace(config.metric, block.vectors, dimension);
      for (let row = 0; row < kept.length && taken < size; row++) {
        const point = points.subarray(row * dimension, (row + 1) * dimension);
        if (config.metric === "cosine" && point.every((value) => value === 0)) continue;
        sample.set(point, taken * dimension);
        if (block.codes)
          codes.set(block.codes.subarray(row * rowBytes, (row + 1) * rowBytes), taken * rowBytes);
        taken++;
      }
    }
    onRows(seen);
  }
  return {
    points: sample.subarray(0, taken * dimension),
    dimension,
    rows: Math.round((rows * taken) / wanted),
    known: encoding && {
      quantizer: encoding.codec.model.quantizer,
      codes: codes.subarray(0, taken * rowBytes),
    },
  };
}

/** Vectors in list space that the codes of a block's live rows may have been of. `encoding` is that of the model with this name. */
async function drawBlock(
  live: LiveBlock,
  encoding: CodedEncoding,
  modelName: string | undefined,
  random: () => number,
): Promise<SampledBlock> {
  const { codes } = await moveCodes(live, encoding, modelName);
  const { rowBytes, model, decodeRows } = encoding.codec;
  const vectors = new Float32Array(live.kept.length * model.dimension);
  const together = rowsOfPiece(4 * model.dimension, drawnCost * model.dimension);
  for (let first = 0; first < live.kept.length; first += together) {
    const rows = codes.subarray(first * rowBytes, (first + together) * rowBytes);
    vectors.set(decodeRows(rows, random), first * model.dimension);
    await yieldToEventLoop();
  }
  return { vectors, codes };
}
