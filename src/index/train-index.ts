/** Trains an index, and learns from example queries at once, without waiting until they are asked: see learned-recall.ts. */

import { SealdexError } from "../errors.js";
import { compareRecall } from "../query/compare-recall.js";
import { resultsMax } from "../query/learned-recall.js";
import type { TrainOptions, Vector } from "../api/vector-index.js";
import { checkVectors } from "./check-request.js";
import { train } from "./training/train.js";
import { copyOf } from "./query-vectors.js";
import { hasDimension } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";

/** Checks and copies the options at once. Throws `invalid_request` or `forbidden`. Returns the training, which is `work`. */
export function prepareTraining(
  index: OpenIndex,
  options: TrainOptions,
  work = () => train(index, options),
): () => Promise<void> {
  const examples = takeExamples(index, checkVectors(options.queries ?? [], "queries"));
  index.keys.check("read-write", index.indexName);
  return async () => {
    await checkExamples(index, examples);
    await work();
    await learnFrom(index, examples, options.signal);
    index.maintenance.forgetFailure("training");
    // The training counts already: garbage collection deletes the rest later.
    await index.dropped.deleteDue().catch(() => undefined);
    index.maintenance.afterWrite();
  };
}

/** Copies of the vectors, which are the caller's again once this has returned. Throws `not_supported` if the index learns from no queries. */
function takeExamples({ config, samples }: OpenIndex, queries: readonly Vector[]): Float32Array[] {
  if (queries.length > 0 && samples === undefined) {
    throw new SealdexError(
      "not_supported",
      "queries: oblivious clients and routers learn nothing from queries",
    );
  }
  return queries.map((vector, i) => copyOf(vector, config.metric, `queries[${i}]`));
}

/** Throws `dimension_mismatch`. */
async function checkExamples(index: OpenIndex, examples: readonly Float32Array[]): Promise<void> {
  if (examples.length === 0) return;
  await index.snapshots.readNewest(async (snapshot) => {
    examples.forEach((vector, i) => hasDimension(index, snapshot, vector, `queries[${i}]`));
  });
}

/** Compares the examples, or as many of them as count, and overwrites them. */
async function learnFrom(
  { snapshots, searcher }: OpenIndex,
  examples: readonly Float32Array[],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (examples.length === 0) return;
  try {
    const step = Math.max(1, examples.length / resultsMax);
    await snapshots.readNewest(async (snapshot) => {
      if (snapshot.models.length === 0) return;
      for (let at = 0; at < examples.length; at += step) {
        const result = await compareRecall(searcher, snapshot, examples[Math.floor(at)], {
          memoryOnly: false,
          signal,
        });
        if (result !== undefined) searcher.learned.add(snapshot.models, result);
      }
    });
  } finally {
    for (const vector of examples) vector.fill(0);
  }
}
