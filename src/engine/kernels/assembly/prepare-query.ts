/** Values computed once per query, before it is compared with rows. */

import { fitsFloat32, sumRow } from "./distance";
import { smallEntryMax } from "./fast-scan";
import { buildTable } from "./rabitq";
import { rotate } from "./rotate";
import { Query } from "./structs";

/** Sets the fields that exact scores need: `norm` and `fitsFloat32`. */
export function measureQuery(query: Query): void {
  query.norm = sqrt<f64>(sumRow(query.vector, query.vector, query.dimension, false));
  query.fitsFloat32 = fitsFloat32(changetype<usize>(query) + offsetof<Query>("norm"), 1);
}

/**
 * Sets the fields that RaBitQ estimates need, and fills in the table at `query.table`. Writes the query in list space to `point`
 * (float32, the query's dimension) and its rotation to `rotated` (d float32); see `rotate` for `d`, `signs` and `span`.
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
    // A zero vector has no direction and stays zero.
    const scale: f64 = query.norm > 0 ? 1 / query.norm : 0;
    for (let at: usize = 0; at < bytes; at += 4) store<f32>(point + at, <f32>(<f64>load<f32>(point + at) * scale));
  }
  memory.copy(rotated, point, bytes);
  memory.fill(rotated + bytes, 0, (<usize>d << 2) - bytes);
  rotate(rotated, 1, d, signs, span);
  query.groups = d >> 2;
  const scale = changetype<usize>(query) + offsetof<Query>("step");
  buildTable(rotated, query.groups, smallEntryMax, query.table, scale);
  // Each entry is rounded by up to half a step, uniformly distributed.
  query.rounding = query.step * sqrt<f32>(<f32>query.groups / 12);
}
