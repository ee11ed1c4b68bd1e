/** What a search found. */

import type { Candidate } from "../engine/top-k.js";
import type { ListBlock, RowRef } from "./snapshot.js";

/** Nearest first: each candidate's score, and its row's ref. */
export interface Found {
  readonly candidates: readonly Candidate[];
  readonly rows: readonly RowRef[];
}

/** The rows of candidates that name their blocks by positions in `blocks`. */
export function foundIn(blocks: readonly ListBlock[], candidates: readonly Candidate[]): Found {
  const rows = candidates.map(({ block, row }) => {
    const { segment, block: codes } = blocks[block];
    return { segment, row: codes.firstRow + row };
  });
  return { candidates, rows };
}
