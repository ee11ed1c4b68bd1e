/** Looks up bytes of a table of 16: result[i] = table[places[i]], for places of 0 to 15. */
@inline
export function lookUp(table: v128, places: v128): v128 {
  // For these places the relaxed instruction has one result on every processor; it is the cheaper one.
  return ASC_FEATURE_RELAXED_SIMD ? i8x16.relaxed_swizzle(table, places) : i8x16.swizzle(table, places);
}
