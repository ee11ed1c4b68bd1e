/**
 * The codes of all matches of a filter side by side (see engine/gathered-codes.ts): for matches that lie thinly in many lists, each of which has
 * far more rows to scan. They are copied once a filter has been used for a while, from blocks that are in memory.
 */

import { GatheredCodes, gatheredBytes, type RowsByList } from "../engine/gathered-codes.js";
import type { ListSearch } from "../engine/list-search.js";
import type { MatchTable, ScannedLists } from "../engine/match-table.js";
import type { Rotation } from "../engine/rotation.js";
import type { CacheKey } from "../segment/cache-group.js";
import { rowsIn } from "../segment/row-bits.js";
import { listMatches, type Matches, withMatches } from "./matches.js";
import { isComplete } from "./open-list-blocks.js";
import type { MatchingRows } from "./row-filter.js";
import type { Searcher } from "./searcher.js";
import type { Snapshot } from "./snapshot.js";

/** Searches with a filter after which it is decided whether its codes are gathered, and searches from one time to the next. */
const decidedEvery = 8;
/** Components of the matches up to which every search compares all of them: that takes as long as looking around for lists. */
const comparedMax = 2 ** 20;
/** The same for searches outside of what the filter accepts: a few milliseconds of copying, and about a megabyte. */
const comparedOutsideMax = 2 ** 23;
/** The share of the blocks that may be read for it. */
const readShareMax = 1 / 4;
/** How much of the cache may be full with them. */
const filledShare = 0.9;

/** Whether every search compares all of so many matches, once their codes are gathered. */
export function areAlwaysCompared(
  count: number,
  { within, outlying }: MatchTable,
  { rotated }: Rotation,
): boolean {
  const scanned = { searches: within.searches + outlying.searches, rows: within.rows + outlying.rows };
  return count * rotated <= comparedMax && areThin(count, scanned);
}

function areComparedOutside(count: number, { outlying }: MatchTable, { rotated }: Rotation): boolean {
  return count * rotated <= comparedOutsideMax && areThin(count, outlying);
}

/** Whether searches scanned lists with more rows than there are matches. */
function areThin(count: number, { searches, rows }: ScannedLists): boolean {
  return searches > 0 && rows >= count * searches;
}

/** The gathered codes of a filter, valid until the next await. Gathering them evicts nothing: undefined if there are none. */
export function gatheredCodes(
  searcher: Searcher,
  snapshot: Snapshot,
  matches: Matches,
  matching: MatchTable,
  { quantizer, table }: ListSearch,
): GatheredCodes | undefined {
  const key: CacheKey<GatheredCodes> = matching;
  const known = snapshot.cache.peek(key);
  if (known !== undefined || matching.lacksCodes || ++matching.searches % decidedEvery > 0) return known;
  const { nLists, rotation } = quantizer;
  const { count } = matches;
  if (!areAlwaysCompared(count, matching, rotation) && !areComparedOutside(count, matching, rotation))
    return undefined;
  const bytes = gatheredBytes(count, nLists, rotation.rotated);
  if (!searcher.hasRoom(bytes, filledShare)) return undefined;
  if (!areOpened(searcher, snapshot, matches)) return undefined;
  const gathered = GatheredCodes.gather(table, rowsByList(snapshot, matches), rotation.rotated);
  if (gathered === undefined) matching.lacksCodes = true;
  else snapshot.cache.put(key, gathered);
  return gathered && snapshot.cache.peek(key);
}

/** Whether all blocks of lists that have a match are in memory; most of them being there, the others are read in the background. */
function areOpened(searcher: Searcher, snapshot: Snapshot, matches: Matches): boolean {
  const { all, firsts } = snapshot.listBlocks;
  const blocks = withMatches(all.slice(0, firsts[firsts.length - 2]), matches);
  const codes = blocks.map(({ segment, block }) => segment.reader.openedCodes(block));
  const missing = blocks.filter((_, i) => codes[i] === undefined);
  if (isComplete(codes)) searcher.residency.recordAddresses(snapshot, blocks, codes);
  else if (missing.length <= readShareMax * blocks.length) {
    searcher.spilled.noteMissing(
      snapshot,
      missing.map(({ number }) => number),
    );
  }
  return missing.length === 0;
}

function rowsByList(snapshot: Snapshot, matches: Matches): RowsByList {
  const nLists = snapshot.listBlocks.firsts.length - 2;
  const firsts = new Uint32Array(nLists + 1);
  const rows: number[] = [];
  for (let list = 0; list < nLists; list++) {
    for (const { number, segment, block } of listMatches(snapshot, matches, list).blocks) {
      const { firstRow } = block;
      const { bits } = matches.rows.get(segment) as MatchingRows;
      for (const row of rowsIn(bits, firstRow, firstRow + block.rows)) rows.push(number, row - firstRow);
    }
    firsts[list + 1] = rows.length / 2;
  }
  return { firsts, rows: Uint32Array.from(rows) };
}
