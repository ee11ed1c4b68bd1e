/** Compares the answers that a query gets by the limits of several declared recalls with its exact answer. */

import { plainResults } from "../api/served-index.js";
import { run } from "../engine/threads/run.js";
import { yieldIfDue } from "../async/event-loop.js";
import type { SearchResult } from "./scan-list-blocks.js";
import { type QueryRecall, triedDepths, triedRecalls } from "./learned-recall.js";
import { type CheckedQuery, nearest } from "./query.js";
import type { Searcher } from "./searcher.js";
import type { RowRef, Snapshot } from "./snapshot/snapshot.js";

/** Undefined if there are no rows. With `memoryOnly`, it throws if it would read from storage. */
export async function compareRecall(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: Pick<CheckedQuery, "memoryOnly" | "signal">,
): Promise<QueryRecall | undefined> {
  const search = async (topK: number, effort: CheckedQuery["effort"]) => {
    await yieldIfDue();
    const query = { ...plainResults, ...options, topK, effort, include: new Set<never>() };
    const [found] = await run(nearest(searcher, snapshot, [vector], query), options.signal);
    return found;
  };
  const exact = await search(Math.max(...triedDepths), "exact");
  if (exact.rows.length === 0) return undefined;
  const result: number[][] = [];
  for (const depth of triedDepths) {
    const wanted = new Set(exact.rows.slice(0, depth).map(nameOf));
    const shares: number[] = [];
    for (const recall of triedRecalls) {
      shares.push(shareFound(await search(depth, { lists: undefined, recall }), wanted));
    }
    result.push(shares);
  }
  return result;
}

function shareFound({ rows }: SearchResult, wanted: ReadonlySet<string>): number {
  return rows.filter((row) => wanted.has(nameOf(row))).length / wanted.size;
}

function nameOf({ segment, row }: RowRef): string {
  return `${segment.ref.name} ${row}`;
}
