/**
 * The warm case of a query: everything that it looks at is in memory already, so it takes one call of a kernel, and waits for
 * nothing.
 */

import type { Trained } from "../engine/choose-codec.js";
import { searchLists } from "../engine/list-search.js";
import { probeLimit } from "../engine/probe-limits.js";
import { type Found, foundIn } from "./filtered-search.js";
import { newestReaders } from "./newer-id-tables.js";
import type { OpenIndex } from "../encrypted-index/open-index.js";
import { isComplete } from "./open-list-blocks.js";
import { probesOf, type Probing } from "./plan.js";
import type { Snapshot } from "./snapshot.js";

/** Undefined where something has to be read first, or where there is more to it than one pass over the nearest lists. */
export function searchWarm(
  index: OpenIndex,
  snapshot: Snapshot,
  { model, quantizer }: Trained,
  vector: Float32Array,
  { topK, nProbes, greedy }: Probing,
): Found | undefined {
  const probes = probesOf(model, nProbes);
  const blocks = greedy || probes === quantizer.nLists ? undefined : index.listBlockTable(snapshot);
  if (blocks === undefined) return undefined;
  const newer = newestReaders(snapshot, snapshot.listBlocks.newerSegmentsMax).map((reader) =>
    reader.openedTable(),
  );
  if (!isComplete(newer)) return undefined;
  const among = { metric: index.config.metric, quantizer, parts: blocks, newer, now: index.tick() };
  const limit = probeLimit(model.probeLimits, probes);
  const searched = searchLists(among, { vector, nProbes: probes, limit, topK });
  if (searched === undefined) return undefined;
  const { candidates, lists } = searched;
  // What the index chose, lists or their number, must not cost rows that were asked for.
  if (candidates.length < topK && (nProbes === 0 || lists < probes)) return undefined;
  return foundIn(snapshot.listBlocks.all, candidates);
}
