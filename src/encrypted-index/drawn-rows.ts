/** Vectors of rows that are codes: as they were, if the rows keep their residuals, or random ones that may have had these codes. */

import { referenceAt } from "../engine/code-layout.js";
import type { IndexConfig } from "../engine/config.js";
import { addReferences } from "../engine/residuals.js";
import { rowsOfPiece } from "../engine/work.js";
import type { OpenSegment } from "../search/snapshot.js";
import { noResiduals, type Residuals } from "../segment/kept-residuals.js";
import { yieldToEventLoop } from "../threads/yield-to-event-loop.js";
import type { LiveBlock } from "./live-blocks.js";
import { type CodedEncoding, moveCodes } from "./move-rows.js";

/** Multiply-adds per component that drawing a vector takes. */
const drawnCost = 400;

export interface DrawnBlock {
  /** In list space, layout (rows, dimension). */
  readonly vectors: Float32Array;
  /** Layout (rows, row code). */
  readonly codes: Uint8Array;
  /** Of rows whose vectors are as they were, by their position among the rows. */
  readonly residuals: Residuals;
}

/** Draws vectors for rows of blocks, segment by segment. */
export class DrawnRows {
  readonly #encoding: CodedEncoding;
  readonly #modelName: string | undefined;
  readonly #config: IndexConfig;
  readonly #random: () => number;
  #segment: OpenSegment | undefined;
  #residuals: Residuals = noResiduals;

  /** `encoding` is that of the model with this name. */
  constructor(
    encoding: CodedEncoding,
    modelName: string | undefined,
    config: IndexConfig,
    random: () => number,
  ) {
    this.#encoding = encoding;
    this.#modelName = modelName;
    this.#config = config;
    this.#random = random;
  }

  /** Of the live rows of a block. */
  async of(live: LiveBlock): Promise<DrawnBlock> {
    if (live.segment !== this.#segment) {
      this.#segment = live.segment;
      this.#residuals = await live.segment.reader.residuals();
    }
    const moved = await moveCodes(live, this.#encoding, this.#modelName, this.#config, this.#residuals);
    const { codes, residuals } = moved;
    const { codec } = this.#encoding;
    const { rowBytes } = codec;
    const { dimension, quantizer } = codec.model;
    const vectors = new Float32Array(live.kept.length * dimension);
    const together = rowsOfPiece(4 * dimension, drawnCost * dimension);
    for (let first = 0; first < live.kept.length; first += together) {
      const rows = codes.subarray(first * rowBytes, (first + together) * rowBytes);
      vectors.set(codec.decodeRows(rows, this.#random), first * dimension);
      await yieldToEventLoop();
    }
    for (const [row, residual] of residuals) {
      const point = residual.slice();
      const reference = Uint32Array.of(referenceAt(codes, row * rowBytes));
      addReferences(point, quantizer.references, reference, dimension);
      vectors.set(point, row * dimension);
    }
    return { vectors, codes, residuals };
  }
}
