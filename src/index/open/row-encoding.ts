/** How new rows are encoded, see `Encoding`. */

import { codecToWrite, type Trained } from "../../engine/scan/choose-codec.js";
import { toListSpace } from "../../engine/metric.js";
import type { Model } from "../../engine/model.js";
import type { Searcher } from "../../query/searcher.js";
import type { Encoding } from "../../state/segment/row-source.js";

/** The encoding of new rows under a model, or without one. The model stays in kernel memory while `use` runs. */
export async function withEncoding<T>(
  searcher: Searcher,
  dimension: number,
  model: Model | undefined,
  use: (encoding: Encoding) => Promise<T>,
): Promise<T> {
  const { config } = searcher;
  const encoding = (trained: Trained | undefined): Encoding => ({
    codec: codecToWrite(config, dimension, trained),
    toListSpace: (vectors) => toListSpace(config.metric, vectors, dimension),
    spills: trained?.model.spilledCurves !== undefined,
    ...(trained && { quantizer: trained.quantizer }),
  });
  if (model === undefined) return use(encoding(undefined));
  return searcher.withTrained(model, (trained) => use(encoding(trained)));
}
