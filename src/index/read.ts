/** Reads items by their ids. */

import type { CompiledFilter } from "../api/filter/compile.js";
import type { IndexDescription, MeasuredRecall, RecallCurve, StoredItem } from "../api/vector-index.js";
import { listCount, type Model } from "../engine/model.js";
import { limitsFor } from "../engine/recall-curves.js";
import { run, waitFor } from "../engine/threads/run.js";
import { readItems, reservedAfter } from "../query/read-items.js";
import type { FoundId, Snapshot } from "../query/snapshot/snapshot.js";
import { type Manifest, objectRefs, rowsAtMost } from "../state/commit/manifest.js";
import { encodeAnchor } from "../state/commit/anchor.js";
import { countMatches } from "./listing/rows-by-id.js";
import { type CheckedFields, keptFields } from "./open/available-fields.js";
import { fingerprintsOf } from "./open/fingerprints.js";
import { dimensionOf } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";

/** Those of the items that exist, in the order of the ids. */
export async function getItems(
  index: OpenIndex,
  ids: readonly string[],
  fields: CheckedFields,
): Promise<StoredItem[]> {
  const distinct = [...new Set(ids)];
  const fingerprints = await fingerprintsOf(index, distinct);
  const read = index.snapshots.readAhead(function* (snapshot, confirm) {
    const include = keptFields(index, snapshot, fields);
    const refsOf = new Map<string, FoundId[]>();
    for (const found of yield* waitFor(snapshot.findIds(fingerprints))) {
      const id = distinct[found.position];
      refsOf.set(id, [...(refsOf.get(id) ?? []), found]);
    }
    const refs = ids.flatMap((id) => refsOf.get(id) ?? []);
    return yield* readItems(refs, include, reservedAfter(confirm, fields.results));
  });
  return run(read);
}

// Counts live items.

/** All items, or those that match. */
export function count(
  { snapshots }: OpenIndex,
  filter: CompiledFilter | undefined,
  signal: AbortSignal | undefined,
): Promise<number> {
  return snapshots.read((snapshot) =>
    filter === undefined ? snapshot.count() : countMatches(snapshot, filter, signal),
  );
}

// Definition and state of an index.

/** Numbers of neighbors whose curves are shown, and the points of each. */
const shownTopK = [1, 10, 100, 1000];
const shownRecalls = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];

/** Of the snapshot that is open, without asking storage. */
export function measuredRecall({ snapshots, searcher }: OpenIndex): readonly MeasuredRecall[] {
  return searcher.learned.measured(snapshots.opened()?.models ?? [], shownRecalls);
}

export async function describe(index: OpenIndex): Promise<IndexDescription> {
  return describeAt(index, await index.snapshots.read(async (snapshot) => snapshot));
}

export function describeAt(index: OpenIndex, { manifest, model, models }: Snapshot): IndexDescription {
  const trainingFailure = index.maintenance.failure("training");
  const { config, model: identity } = index;
  const dimension = dimensionOf(index, manifest);
  const measured = index.searcher.learned.measured(models, shownRecalls);
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
    ...(measured.length > 0 && { measuredRecall: measured }),
    segments: manifest.segments.length,
    storedBytes: objectRefs(manifest).reduce((sum, { length }) => sum + length, 0),
    reclaimableBytes: index.dropped.bytes,
    ...(identity?.name !== undefined && { embeddingModel: identity.name }),
    ...(index.words !== undefined && { textIndex: true }),
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

/** The token of the newest state. */
export async function presentAnchor({ indexId, log }: OpenIndex): Promise<string> {
  const { manifest, digest } = await log.newestSealed();
  return encodeAnchor({ indexId, version: manifest.version, digest });
}
