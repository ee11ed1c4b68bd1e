/** What is computed of a query once, before it is compared with anything. */

import { sumRow } from "./distance-wide";
import { smallEntryMax } from "./fast-scan";
import { buildTable } from "./rabitq";
import { rotate } from "./rotate";
import { Query } from "./search";

// Norms between these keep squares and their sums well inside float32, differences included.
const normMin: f64 = 1e-10;
const normMax: f64 = 1e15;

/** Fills in what exact scores need: the norm, and whether float32 is enough. */
export function measureQuery(query: Query): void {
  query.norm = sqrt<f64>(sumRow(query.vector, query.vector, query.dimension, false));
  query.narrow = <u32>(query.norm == 0 || (query.norm >= normMin && query.norm <= normMax));
}

/**
 * Fills in what RaBitQ estimates need. `point` (float32 of the dimension) takes the query in list space, `rotated` (d float32)
 * its rotation; see `rotate` for `d`, `signs` and `span`. The table lies where the query says.
 */
export function rotateQuery(
  query: Query,
  point: usize,
  rotated: usize,
  d: u32,
  signs: usize,
  span: u32,
): void {
  const bytes = <usize>query.dimension << 2;
  memory.copy(point, query.vector, bytes);
  if (query.cosine) {
    // A zero vector has no direction and stays where it is.
    const scale: f64 = query.norm > 0 ? 1 / query.norm : 0;
    for (let at: usize = 0; at < bytes; at += 4) store<f32>(point + at, <f32>(<f64>load<f32>(point + at) * scale));
  }
  memory.copy(rotated, point, bytes);
  memory.fill(rotated + bytes, 0, (<usize>d << 2) - bytes);
  rotate(rotated, 1, d, signs, span);
  query.groups = d >> 2;
  const scale = changetype<usize>(query) + offsetof<Query>("step");
  buildTable(rotated, query.groups, smallEntryMax, query.table, scale);
  // Each entry is rounded by at most half a step, evenly.
  query.rounding = query.step * sqrt<f32>(<f32>query.groups / 12);
}
