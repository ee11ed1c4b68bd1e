/** The part of a filtered search beside `searchLists`: it measures how densely the matches surround the query. */

import { Heap, rowAt, scoreAt } from "./heap";
import { beginSearch, ListBlockTable, listMatchesAt, MatchTable, noteClosed } from "./list-block-table";
import { CoarseQuantizer, lengthOf, probeLists, squareToCentroid } from "./probe-lists";
import { scoreWaiting } from "./scan-flat";
import { rowsTogether } from "./scan-together";
import { readListAhead, scanList, scanNearest, sortIfDone } from "./search-lists";
import { Job, Query } from "./structs";

/**
 * The share of matches among the rows of the nearest lists within the limit, as `probeLists` finds them; 0 if the query is more than `unlike`
 * times farther from the nearest list, squared, than rows of that list are.
 */
export function shareAround(
  point: Query,
  quantizer: CoarseQuantizer,
  codedMax: u32,
  probes: Heap,
  limit: f64,
  unlike: f64,
  matching: MatchTable,
  job: Job,
): f64 {
  const likely = probeLists(point, quantizer, codedMax, limit, 0, probes, job);
  let rows: u32 = 0;
  let matches: u32 = 0;
  for (let i: u32 = 0; i < likely; i++) {
    const list = listMatchesAt(changetype<usize>(matching), rowAt(probes, i));
    if (i == 0) {
      const square = squareToCentroid(quantizer, rowAt(probes, 0), scoreAt(probes, 0));
      if (square > unlike * <f64>list.spread) return 0;
    }
    rows += list.rows;
    matches += list.matches;
  }
  return rows == 0 ? 0 : <f64>matches / <f64>rows;
}

/**
 * Scans the lists that have a match, nearest first: those whose codes are compared together, and as many as it takes to see as many matches as the
 * heap holds, then those whose rows may be nearer than the farthest match found, which means that they need a cosine of at most `cosine` for it
 * (see ../../recall-curves.ts). By that, `epsilon`, `usual` and `fall` say how far codes may be off (see ../../pruning.ts). `probes` has room for all
 * lists with a match. Blocks that are not in memory are noted as missing, nearest list first.
 */
export function searchOutlying(
  query: Query,
  point: Query,
  quantizer: CoarseQuantizer,
  probes: Heap,
  cosine: f64,
  epsilon: f64,
  usual: f64,
  fall: f64,
  table: ListBlockTable,
  heap: Heap,
  job: Job,
  now: u32,
): void {
  beginSearch(table);
  const among = changetype<MatchTable>(table.matching).among;
  const count = probeLists(point, quantizer, 0, Infinity, among, probes, job);
  noteClosed(table, table.nLists, false);
  query.epsilon = <f32>epsilon;
  scanList(query, heap, job, table, table.nLists, -1, 0, false, now, 0);
  const together = listsTogether(table, probes);
  for (let i: u32 = 0; i < together; i++) noteClosed(table, rowAt(probes, i), false);
  job.readAhead = 0;
  for (let i: u32 = 0; i < together; i++) job.readAhead += readListAhead(query, table, rowAt(probes, i), false);
  let done = scanNearest(query, heap, job, table, quantizer, probes, together, together, true, now);
  let seen: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const list = rowAt(probes, i);
    const matches = listMatchesAt(table.matching, list);
    const square = squareToCentroid(quantizer, list, scoreAt(probes, i));
    if (i >= together) {
      const needed = cosineNeeded(query, heap, square, <f64>matches.spread);
      if (seen >= heap.capacity && needed > cosine) continue;
      noteClosed(table, list, false);
      job.readAhead = readListAhead(query, table, list, false);
      query.epsilon = <f32>(fall > 0 ? epsilon - fall * max<f64>(0, needed - usual) : epsilon);
    }
    done = scanList(query, heap, job, table, list, square, lengthOf(quantizer, list), false, now, done);
    seen += matches.matches;
  }
  scoreWaiting(query, heap, table.waiting);
  sortIfDone(table, heap);
}

/** How many of the nearest lists have few enough rows, in all, that their codes are compared together. */
function listsTogether(table: ListBlockTable, probes: Heap): u32 {
  let rows: u32 = 0;
  let lists: u32 = 0;
  for (; lists < probes.size; lists++) {
    rows += listMatchesAt(table.matching, rowAt(probes, lists)).rows;
    if (rows > rowsTogether) break;
  }
  return lists;
}

/** As the function of ../../recall-curves.ts, for rows to be nearer than the farthest one that the heap keeps. */
@inline
function cosineNeeded(query: Query, heap: Heap, square: f64, spread: f64): f64 {
  const reach = query.cosine ? 2 * heap.threshold : heap.threshold;
  const excess = square + spread - reach;
  // Not a number beyond float32: nothing is known then, and no comparison holds.
  return excess > 0 ? excess / (2 * sqrt<f64>(square * spread)) : -1;
}
