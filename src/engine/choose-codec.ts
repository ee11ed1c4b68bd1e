/** Which codec an index's rows have. */

import type { Codec, Scanner } from "./codec.js";
import type { CoarseQuantizer } from "./coarse-quantizer.js";
import { codedCodec } from "./coded.js";
import { codedScanner } from "./coded-scanner.js";
import type { IndexConfig } from "./config.js";
import { flatCodec, flatScanner } from "./flat.js";
import type { ModelCoder } from "./model-coder.js";
import { isCodedModel, type Model } from "./model.js";

/** A model in kernel memory, while it is pinned. */
export interface Trained {
  readonly model: Model;
  readonly quantizer: CoarseQuantizer;
  /** Where rows are codes alone. */
  readonly coder?: ModelCoder;
}

/** The codec that encodes rows under a model, or without one. */
export function codecToWrite(config: IndexConfig, dimension: number, trained: Trained | undefined): Codec {
  if (trained !== undefined && isCodedModel(trained.model)) {
    return codedCodec(config, trained.model, trained.coder) as Codec;
  }
  return flatCodec(config.metric, dimension, trained?.quantizer ?? "none");
}

/** The codec of stored rows, `grouped` by the lists of a model or not. `model` is theirs; only codes alone need it. */
export function codecToRead(
  config: IndexConfig,
  dimension: number,
  grouped: boolean,
  model: Model | undefined,
): Codec {
  if (model !== undefined && isCodedModel(model)) return codedCodec(config, model, undefined) as Codec;
  return flatCodec(config.metric, dimension, grouped ? "lists" : "none");
}

/** A scanner for one query. `exact`: no row may be lost to chance, where vectors are kept. */
export function chooseScanner(
  config: IndexConfig,
  query: Float32Array,
  trained: Trained | undefined,
  exact: boolean,
): Scanner {
  const { coder } = trained ?? {};
  const pruning = exact || coder !== undefined ? undefined : trained?.quantizer;
  const flat = flatScanner(config.metric, query.length, query, pruning) as Scanner;
  return coder === undefined ? flat : codedScanner(config, query, coder, flat);
}
