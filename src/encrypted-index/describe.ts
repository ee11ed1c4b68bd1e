/** What an index is, and how it is doing. */

import { type Manifest, objectRefs, rowsAtMost } from "../commit/manifest.js";
import { listCount, type Model } from "../engine/model.js";
import { limitsFor } from "../engine/recall-curves.js";
import type { IndexDescription, RecallCurve } from "../vector-index.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";

/** Numbers of neighbours whose curves are shown, and the points of each. */
const shownTopK = [1, 10, 100, 1000];
const shownRecalls = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];

export async function describe(index: OpenIndex): Promise<IndexDescription> {
  const trainingFailure = index.maintenance.failure("training");
  const { config, model: identity } = index;
  const { manifest, model } = await index.snapshots.read(async (snapshot) => snapshot);
  const dimension = dimensionOf(index, manifest);
  const measuredRecall = model === undefined ? [] : index.searcher.learned.measured(model, shownRecalls);
  return {
    indexName: index.indexName,
    type: config.type,
    metric: config.metric,
    ...(dimension !== undefined && { dimension }),
    nLists: model === undefined ? 1 : listCount(model),
    ...(config.type === "ivfflat" && { precision: config.precision ?? "float32" }),
    ...(config.spilling !== undefined && { spilling: config.spilling }),
    ...(config.pqDim !== undefined && { pqDim: config.pqDim, pqBits: config.pqBits }),
    trained: model !== undefined,
    ...(model !== undefined && { recallCurves: curvesOf(model, manifest) }),
    ...(measuredRecall.length > 0 && { measuredRecall }),
    segments: manifest.segments.length,
    storedBytes: objectRefs(manifest).reduce((sum, { length }) => sum + length, 0),
    reclaimableBytes: index.dropped.bytes,
    ...(identity?.name !== undefined && { embeddingModel: identity.name }),
    memory: index.searcher.memory(),
    ...(trainingFailure !== undefined && { trainingFailure }),
  };
}

function curvesOf({ curves }: Model, manifest: Manifest): RecallCurve[] {
  const items = rowsAtMost(manifest);
  return shownTopK
    .filter((topK) => topK === 1 || topK <= items)
    .map((topK) => ({
      topK,
      points: shownRecalls.map((recall) => ({ recall, nProbes: limitsFor(curves, topK, recall).probes })),
    }));
}
