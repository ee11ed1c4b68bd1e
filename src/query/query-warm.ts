/**
 * The warm case of a query: everything that it looks at is in memory already, so it takes one call of a kernel and awaits
 * nothing.
 */

import { type NearestList, searchLists } from "../engine/scan/search-lists.js";
import { searchFiltered } from "./query-filtered.js";
import { type SearchResult, foundIn } from "./scan-list-blocks.js";
import { isComplete } from "./open-list-blocks.js";
import { isAutomatic, isFarFromRows, isWhole, type Probing, scanLimits, wider } from "./scan-limits.js";
import type { SearchScope } from "./search-scope.js";

/**
 * Undefined if something has to be read first, or if the search takes more than one pass over the nearest lists: without a model, among all
 * lists, or far from all rows.
 */
export function searchWarm(
  { searcher, snapshot, trained, matches }: SearchScope,
  vector: Float32Array,
  probing: Probing,
): SearchResult | undefined {
  const { topK, effort } = probing;
  if (trained === undefined) return undefined;
  const { model, quantizer, rowQuantizer } = trained;
  if (isWhole(effort, quantizer.nLists)) return undefined;
  const { config, residency } = searcher;
  const table = residency.ensureTable(snapshot);
  if (table === undefined) return undefined;
  const newer = snapshot
    .newestReaders(snapshot.listBlocks.newerSegmentsMax)
    .map((reader) => reader.openedTable());
  if (!isComplete(newer)) return undefined;
  const among = { metric: config.metric, quantizer, rowQuantizer, table, newer, now: residency.tick() };
  const { all } = snapshot.listBlocks;
  if (matches !== undefined) {
    const found = searchFiltered({ searcher, snapshot, model, matches }, among, vector, probing);
    return found && foundIn(all, found.candidates);
  }
  const { growth } = snapshot;
  const isOutlying = (nearest: NearestList) =>
    isAutomatic(effort) && isFarFromRows(quantizer, model.spreads, nearest);
  const spilled = isAutomatic(effort)
    ? searcher.spilled.probes(snapshot, model, table, { topK, recall: effort.recall })
    : undefined;
  if (spilled !== undefined) {
    // The rows that are in one list need as many lists as ever.
    const reach = residency.spilled.areAll ? spilled : wider(spilled, scanLimits(model, probing, growth));
    const found = searchLists(among, {
      vector,
      nProbes: reach.probes,
      limit: reach.ratio,
      epsilon: reach.epsilon,
      topK,
      spilled,
    });
    if (found === undefined) searcher.spilled.noteMissing(snapshot, table.missing());
    else if (isOutlying(found.nearest)) return undefined;
    else if (found.candidates.length === topK) return foundIn(all, found.candidates);
  }
  const { probes, ratio, epsilon } = scanLimits(model, probing, growth);
  const search = (limit: number) =>
    searchLists(among, { vector, nProbes: probes, limit, epsilon, topK, spilled: undefined });
  let found = search(ratio);
  if (found === undefined || isOutlying(found.nearest)) return undefined;
  if (found.candidates.length < topK) {
    // Automatic limits must never return fewer than topK rows.
    if (isAutomatic(effort)) return undefined;
    if (found.lists < probes) found = search(Infinity);
  }
  return found && foundIn(all, found.candidates);
}
