/** The rows of postings one by one, while other work of the process runs in between. */

import { endOfRows, type PostingCursor } from "../engine/posting-cursor.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";

/** Rows visited between two looks at the clock. */
const together = 4096;

/** Calls `visit` with each row of a cursor that has not moved yet; the cursor stands there until it returns. */
export async function forEachRow(cursor: PostingCursor, visit: (row: number) => void): Promise<void> {
  let visited = 0;
  for (cursor.advance(0); cursor.row !== endOfRows; cursor.advance(cursor.row + 1)) {
    if (visited++ % together === 0) await yieldIfDue();
    visit(cursor.row);
  }
}
