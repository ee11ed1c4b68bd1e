/** How densely the matches of a filter surround a query, by which the limits of its search are chosen. */

import { Heap, rowAt, scoreAt } from "./heap";
import { listMatchesAt, MatchTable } from "./list-block-table";
import { CoarseQuantizer, probeLists, squareToCentroid } from "./probe-lists";
import { Job, Query } from "./structs";

/**
 * The share of matches among the rows of the nearest lists within the limit, as `probeLists` finds them; 0 if the query is more than `outside`
 * times farther from the nearest list that has a match, squared, than rows of that list are.
 */
export function shareAround(
  point: Query,
  quantizer: CoarseQuantizer,
  codedMax: u32,
  probes: Heap,
  limit: f64,
  outside: f64,
  matching: MatchTable,
  job: Job,
): f64 {
  const likely = probeLists(point, quantizer, codedMax, limit, 0, probes, job);
  let rows: u32 = 0;
  let matches: u32 = 0;
  for (let i: u32 = 0; i < likely; i++) {
    const list = listMatchesAt(changetype<usize>(matching), rowAt(probes, i));
    if (matches == 0 && list.matches > 0) {
      const square = squareToCentroid(quantizer, rowAt(probes, i), scoreAt(probes, i));
      if (square > outside * <f64>list.spread) return 0;
    }
    rows += list.rows;
    matches += list.matches;
  }
  return rows == 0 ? 0 : <f64>matches / <f64>rows;
}
