/** What an index is, and how it is doing. */

import { modelRefs } from "../commit/manifest.js";
import { listCount } from "../engine/model.js";
import type { IndexDescription } from "../vector-index.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";

/** `trainingFailure`: why the last automatic training failed, if it did. */
export async function describe(
  index: OpenIndex,
  trainingFailure: string | undefined,
): Promise<IndexDescription> {
  const { config, model: identity } = index;
  const { manifest, model } = await index.snapshots.read(async (snapshot) => snapshot);
  const dimension = dimensionOf(index, manifest);
  return {
    indexName: index.indexName,
    type: config.type,
    metric: config.metric,
    ...(dimension !== undefined && { dimension }),
    nLists: model === undefined ? 1 : listCount(model),
    ...(config.pqDim !== undefined && { pqDim: config.pqDim, pqBits: config.pqBits }),
    trained: model !== undefined,
    segments: manifest.segments.length,
    storedBytes: [...manifest.segments, ...modelRefs(manifest)].reduce((sum, { length }) => sum + length, 0),
    ...(identity?.name !== undefined && { embeddingModel: identity.name }),
    memory: index.searcher.memory(),
    ...(trainingFailure !== undefined && { trainingFailure }),
  };
}
