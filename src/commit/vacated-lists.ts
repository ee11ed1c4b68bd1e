/**
 * Lists of a segment whose rows moved to newer segments, because a refinement gave the lists other centroids. As bits, base64: list l is bit
 * l mod 8 of byte floor(l / 8); lists beyond the last byte are not among them.
 */

import type { SegmentRef, VacatedLists } from "./manifest.js";

/** Whether a list is one of them. */
export function vacatedIn({ vacated }: SegmentRef): (list: number) => boolean {
  if (vacated === undefined) return () => false;
  const bits = Buffer.from(vacated.lists, "base64");
  return (list) => ((bits[list >>> 3] ?? 0) & (1 << (list & 7))) !== 0;
}

/** Those of a segment with more lists, in which it has `rows` rows. */
export function vacate({ vacated }: SegmentRef, lists: ReadonlySet<number>, rows: number): VacatedLists {
  const before = Buffer.from(vacated?.lists ?? "", "base64");
  const bytes = Math.max(0, ...Array.from(lists, (list) => (list >>> 3) + 1));
  const bits = Buffer.alloc(Math.max(before.length, bytes));
  before.copy(bits);
  for (const list of lists) bits[list >>> 3] |= 1 << (list & 7);
  return { lists: bits.toString("base64"), rows: (vacated?.rows ?? 0) + rows };
}
