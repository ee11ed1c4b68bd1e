/** Counts live items. */

import type { CompiledFilter } from "../filter.js";
import type { OpenIndex } from "./open-index.js";
import { countMatches } from "./rows-by-id.js";

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
