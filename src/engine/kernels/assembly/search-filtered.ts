/** How the matches of a filter lie around a query. */

import { Heap, rowAt } from "./heap";
import { listMatchesAt, MatchTable } from "./list-block-table";
import { CoarseQuantizer, probeLists } from "./probe-lists";
import { Job, Query } from "./structs";

/** The share of matches among the rows of the nearest lists within the limit, as `probeLists` finds them. */
export function shareAround(
  point: Query,
  quantizer: CoarseQuantizer,
  codedMax: u32,
  probes: Heap,
  limit: f64,
  matching: MatchTable,
  job: Job,
): f64 {
  const likely = probeLists(point, quantizer, codedMax, limit, 0, probes, job);
  let rows: u32 = 0;
  let matches: u32 = 0;
  for (let i: u32 = 0; i < likely; i++) {
    const list = listMatchesAt(changetype<usize>(matching), rowAt(probes, i));
    rows += list.rows;
    matches += list.matches;
  }
  return rows == 0 ? 0 : <f64>matches / <f64>rows;
}
