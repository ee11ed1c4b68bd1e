/** The definition of an index, as its keysets store it. docs/internals/format.md §3. */

import type { ModelIdentity } from "../../embedding/index-embedder.js";
import {
  dimensionMax,
  type IndexConfig,
  indexTypes,
  metrics,
  nListsMax,
  pqBitsMax,
} from "../../engine/config.js";
import {
  base64,
  type Check,
  either,
  flag,
  integer,
  listOf,
  Misfit,
  oneOf,
  optional,
  real,
  record,
  textUpTo,
} from "../../checks/stored-json.js";
import {
  fieldsMax,
  k1Max,
  pathLengthMax,
  stopWordLengthMax,
  stopWordsMax,
  weightMax,
} from "../../text/define-text.js";
import {
  type AnalyzerDefinition,
  languages,
  type TextDefinition,
  type TextField,
} from "../../text/text-options.js";

/** The definition of an index, fixed at its creation; the dimension may be left to the first vector. */
export interface IndexDefinition {
  readonly config: IndexConfig;
  readonly model?: ModelIdentity;
  /** How its texts are searched by words, if they are. */
  readonly text?: TextDefinition;
}

const shape = record<IndexDefinition>({
  config: record<IndexConfig>({
    type: oneOf(...indexTypes),
    metric: oneOf(...metrics),
    dimension: optional(integer(1, dimensionMax)),
    nLists: integer(1, nListsMax),
    precision: optional(oneOf("float16", "int8")),
    spilling: optional(oneOf(false)),
    pqDim: optional(integer(1, dimensionMax)),
    pqBits: optional(integer(1, pqBitsMax)),
  }),
  model: optional(record<ModelIdentity>({ name: optional(textUpTo()), sample: base64(1, dimensionMax) })),
  text: optional(
    record<TextDefinition>({
      analyzer: record<AnalyzerDefinition>({
        version: oneOf(1),
        language: oneOf(...languages, "none"),
        stemming: flag,
        stopWords: either(flag, listOf(textUpTo(stopWordLengthMax), 0, stopWordsMax)),
      }),
      fields: listOf(
        record<TextField>({ path: textUpTo(pathLengthMax), weight: integer(1, weightMax) }),
        1,
        fieldsMax,
      ),
      k1: real(0, k1Max),
      b: real(0, 1),
    }),
  ),
});

export const storedDefinition: Check<IndexDefinition> = (value) => {
  const definition = shape(value);
  const { config } = definition;
  // Its own members: other objects of the process may inherit some.
  const has = (name: keyof IndexConfig) => Object.hasOwn(config, name);
  const isQuantized = config.type === "ivfpq";
  if (has("pqDim") !== isQuantized || has("pqBits") !== isQuantized)
    throw new Misfit("pqDim and pqBits of ivfpq alone", ".config");
  if (config.type !== "ivfflat" && (has("precision") || has("spilling")))
    throw new Misfit("precision and spilling of ivfflat alone", ".config");
  const { dimension = 0, pqDim = 1 } = config;
  if (has("pqDim") && has("dimension") && dimension % pqDim !== 0)
    throw new Misfit(`a divisor of the dimension ${dimension}`, ".config.pqDim");
  return definition;
};
