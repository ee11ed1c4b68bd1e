/** The parts of a query's profile that kernels know: how long they choose lists, and how many rows they compare. */

import { currentProfile } from "../async/profile.js";
import type { QueryVector } from "../engine/query-vector.js";
import type { Reach } from "../engine/recall-curves.js";
import type { ListSearch, SearchedLists, SpilledProbes } from "../engine/scan/search-lists.js";
import type { Work } from "../engine/work.js";
import { noEpoch } from "./residency.js";
import type { ListBlock } from "./snapshot/snapshot.js";

/**
 * Scans the lists within these limits, and returns how many they are: see `ListSearch`. A kernel chooses lists and scans them in one call, so a
 * profiled query chooses them twice: the first time by itself, in an epoch in which no block is in memory, which shows how long it takes and counts for
 * nothing.
 */
export function* searchWithin(
  search: ListSearch,
  among: SearchedLists,
  reach: Reach,
  spilled?: SpilledProbes,
): Work<number> {
  const profile = currentProfile();
  const { table, epoch, now } = among;
  if (profile === undefined || epoch === noEpoch) {
    search.begin(among, reach, spilled);
    yield [search.call];
    return search.lists;
  }
  const chooseMs = profile.measure(() => void search.within({ ...among, epoch: noEpoch }, reach, spilled));
  profile.enter("scan");
  const count = search.within(among, reach, spilled);
  profile.give(chooseMs, "choose");
  profile.enter("choose");
  profile.add({ cacheHits: table.countUsed(now, epoch) });
  return count;
}

/** Adds the lists of these blocks to the profile. */
export function noteLists(blocks: readonly ListBlock[]): void {
  currentProfile()?.add({ lists: new Set(blocks.map(({ block }) => block.list)).size });
}

/** Adds the rows that a query was compared with to the profile. Call it when the query is done. */
export function noteCompared(query: QueryVector): void {
  const profile = currentProfile();
  if (profile === undefined) return;
  const { codes, vectors } = query.compared;
  profile.add({ rowsCompared: codes, rowsRead: vectors });
}
