/**
 * The warm case of a query: everything that it looks at is in memory already, so it takes one call of a kernel, and waits for
 * nothing.
 */

import { searchLists } from "../engine/list-search.js";
import { probeLimit } from "../engine/probe-limits.js";
import type { Found } from "./filtered-search.js";
import { newestReaders } from "./newer-tables.js";
import type { OpenIndex } from "./open-index.js";
import { isComplete } from "./open-parts.js";
import { probesOf, type Probing } from "./plan.js";
import type { Snapshot } from "./snapshot.js";

/** Undefined where something has to be read first, or where there is more to it than one pass over the nearest lists. */
export function searchWarm(
  index: OpenIndex,
  snapshot: Snapshot,
  vector: Float32Array,
  options: Probing,
): Found | undefined {
  const trained = snapshot.model && index.openedModel(snapshot.model);
  if (trained === undefined || trained.coder !== undefined || options.greedy) return undefined;
  const probes = probesOf(snapshot, options);
  const parts = probes < trained.quantizer.nLists ? index.openedParts(snapshot) : undefined;
  if (parts === undefined) return undefined;
  const newer = newestReaders(snapshot, snapshot.parts.newerMax).map((reader) => reader.openedTable());
  if (!isComplete(newer)) return undefined;
  const among = {
    metric: index.config.metric,
    quantizer: trained.quantizer,
    parts,
    newer,
    now: index.tick(),
  };
  const { topK } = options;
  const limit = probeLimit(trained.model.probeLimits, probes);
  const searched = searchLists(among, { vector, nProbes: probes, limit, topK });
  if (searched === undefined) return undefined;
  const { candidates, lists } = searched;
  // What the index chose, lists or their number, must not cost rows that were asked for.
  if (candidates.length < topK && (options.nProbes === 0 || lists < probes)) return undefined;
  const places = candidates.map(({ block, row }) => {
    const { segment, block: codes } = snapshot.parts.all[block];
    return { segment, row: codes.firstRow + row };
  });
  return { candidates, places };
}
