/** What a search found. */

import type { Candidate } from "../engine/top-k.js";
import type { ListBlock, RowPlace } from "./snapshot.js";

/** Nearest first: each candidate's score, and its row's place. */
export interface Found {
  readonly candidates: readonly Candidate[];
  readonly places: readonly RowPlace[];
}

/** The places of candidates that name their blocks by positions in `blocks`. */
export function foundIn(blocks: readonly ListBlock[], candidates: readonly Candidate[]): Found {
  const places = candidates.map(({ block, row }) => {
    const { segment, block: codes } = blocks[block];
    return { segment, row: codes.firstRow + row };
  });
  return { candidates, places };
}
