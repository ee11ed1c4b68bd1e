/** The codec and the scanner of an index's rows. */

import type { Codec, PruningCodes } from "../codes/codec.js";
import type { CoarseQuantizer } from "../lists/coarse-quantizer.js";
import { codedCodec } from "../codes/coded.js";
import { codedScanner } from "./coded-scanner.js";
import type { IndexConfig } from "../config.js";
import { flatCodec } from "../codes/flat.js";
import type { ModelQuantizer } from "../codes/model-quantizer.js";
import { isCodedModel, type Model } from "../model.js";
import type { QueryVector } from "../query-vector.js";
import { scalarCodec } from "../codes/scalar.js";
import { flatScanner, type Scanner } from "./scanner.js";

/** A model in kernel memory. Valid while it is pinned. */
export interface Trained {
  readonly model: Model;
  readonly quantizer: CoarseQuantizer;
  /** If rows are codes without vectors. */
  readonly rowQuantizer?: ModelQuantizer;
}

/** The codec that encodes rows under a model, or without one. */
export function codecToWrite(config: IndexConfig, dimension: number, trained: Trained | undefined): Codec {
  if (trained !== undefined && isCodedModel(trained.model)) {
    return codedCodec(config, trained.model, trained.rowQuantizer);
  }
  return preciseCodec(config, dimension, trained?.quantizer ?? "none");
}

/** The codec of stored rows, `grouped` by the lists of a model or not. Only codes without vectors need their `model`. */
export function codecToRead(
  config: IndexConfig,
  dimension: number,
  grouped: boolean,
  model: Model | undefined,
): Codec {
  if (model !== undefined && isCodedModel(model)) return codedCodec(config, model, undefined);
  return preciseCodec(config, dimension, grouped ? "stored" : "none");
}

function preciseCodec({ metric, precision }: IndexConfig, dimension: number, pruning: PruningCodes): Codec {
  return precision === undefined
    ? flatCodec(metric, dimension, pruning)
    : scalarCodec({ metric, precision, dimension }, pruning);
}

/** A scanner for one query, which has the rotation of the model if there is one. */
export function chooseScanner(
  config: IndexConfig,
  query: QueryVector,
  trained: Trained | undefined,
): Scanner {
  const { rowQuantizer } = trained ?? {};
  return rowQuantizer === undefined ? flatScanner(query) : codedScanner(config, query, rowQuantizer);
}
