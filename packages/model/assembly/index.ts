/** AssemblyScript, compiled by scripts/build-model-kernel.mjs. */

/**
 * Adds rows of a table to `sums`, float64, `dimension` of them, a multiple of 8. `components`: int8, layout (token, dimension);
 * `scales`: float64, one per token; `ids`: int32, `count` of them. A block of sums stays in registers for all rows.
 */
export function addRows(
  components: usize,
  scales: usize,
  dimension: usize,
  ids: usize,
  count: usize,
  sums: usize,
): void {
  for (let i: usize = 0; i < dimension; i += 8) {
    const at = sums + (i << 3);
    let a = v128.load(at);
    let b = v128.load(at, 16);
    let c = v128.load(at, 32);
    let d = v128.load(at, 48);
    for (let row: usize = 0; row < count; row++) {
      const id = <usize>load<u32>(ids + (row << 2));
      const scale = v128.splat<f64>(load<f64>(scales + (id << 3)));
      const eight = v128.load_ext<i8>(components + id * dimension + i);
      const low = i32x4.extend_low_i16x8_s(eight);
      const high = i32x4.extend_high_i16x8_s(eight);
      a = f64x2.add(a, f64x2.mul(scale, f64x2.convert_low_i32x4_s(low)));
      b = f64x2.add(b, f64x2.mul(scale, f64x2.convert_low_i32x4_s(upper(low))));
      c = f64x2.add(c, f64x2.mul(scale, f64x2.convert_low_i32x4_s(high)));
      d = f64x2.add(d, f64x2.mul(scale, f64x2.convert_low_i32x4_s(upper(high))));
    }
    v128.store(at, a);
    v128.store(at, b, 16);
    v128.store(at, c, 32);
    v128.store(at, d, 48);
  }
}

// @ts-ignore: decorator
@inline
function upper(x: v128): v128 {
  return v128.shuffle<i32>(x, x, 2, 3, 2, 3);
}
