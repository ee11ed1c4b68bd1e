/** Cuts rows that go to several segments between their lists. */

import type { Grouped } from "../segment/row-source.js";

/** By how much of a segment rows may be too many, so that a little more than one does not make two. */
const slack = 0.25;

/** The rows in parts of about the same number, `segments` or fewer, one at least; each list is in one of them. */
export function cutByList({ order, runs }: Grouped, segments: number): Grouped[] {
  const rowsWanted = order.length / Math.max(1, Math.ceil(segments - slack));
  const parts: Grouped[] = [];
  for (let first = 0; first < runs.length || parts.length === 0;) {
    const start = runs[first]?.start ?? 0;
    let next = first;
    while (next < runs.length && runs[next].start - start < rowsWanted) next++;
    const own = runs.slice(first, next);
    parts.push({
      order: order.subarray(start, own.at(-1)?.end ?? start),
      runs: own.map(({ list, start: from, end }) => ({ list, start: from - start, end: end - start })),
    });
    first = next;
  }
  return parts;
}
