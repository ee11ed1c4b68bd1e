/** Which codec an index's rows have. */

import type { Codec, Grouping } from "./codec.js";
import type { IndexConfig } from "./config.js";
import { flatCodec } from "./flat.js";

/** The codec of rows that are not grouped by a model, or of those that are; with its quantizer, one that can encode. */
export function chooseCodec(config: IndexConfig, dimension: number, grouping: Grouping): Codec {
  return flatCodec(config.metric, dimension, grouping);
}
