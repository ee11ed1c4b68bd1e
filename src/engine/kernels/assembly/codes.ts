/** Values computed once: signs of residuals when rows are stored, and lookup tables when a query begins. */

/**
 * Signs and factors of n rotated residuals, layout (n, d), d a multiple of 8. `origins` has layout (·, d): rotated reference
 * centroids minus the rotated origin; `references` (n uint32) says which of them each row is relative to. Writes `signs`,
 * layout (n, d / 8), low bits first, set for residuals >= 0, and `factors`, float32 of layout (2, n): add and scale, both 0 if
 * the residual is.
 */
export function encodeSigns(
  residuals: usize,
  n: u32,
  d: u32,
  references: usize,
  origins: usize,
  signs: usize,
  factors: usize,
): void {
  const rowBytes = <usize>d << 2;
  const root = sqrt<f64>(<f64>d);
  for (let i: u32 = 0; i < n; i++) {
    const row = residuals + <usize>i * rowBytes;
    const origin = origins + <usize>load<u32>(references + (<usize>i << 2)) * rowBytes;
    let squares: f64 = 0;
    let absolutes: f64 = 0;
    let along: f64 = 0;
    for (let first: u32 = 0; first < d; first += 8) {
      let bits: u32 = 0;
      for (let j: u32 = 0; j < 8; j++) {
        const at = <usize>(first + j) << 2;
        const r = <f64>load<f32>(row + at);
        const c = <f64>load<f32>(origin + at);
        squares += r * r;
        absolutes += abs<f64>(r);
        const positive = r >= 0;
        along += positive ? c : -c;
        bits |= <u32>positive << j;
      }
      store<u8>(signs++, <u8>bits);
    }
    const to = factors + (<usize>i << 2);
    const scale = absolutes > 0 ? (-2 * squares * root) / absolutes : 0;
    store<f32>(to, <f32>(squares - (scale * along) / root));
    store<f32>(to + (<usize>n << 2), <f32>scale);
  }
}

/**
 * For each group of 4 components of a query, the 16 signed sums of them, a set bit standing for plus. `entries`: float32 of
 * layout (groups, 16).
 */
export function signSums(query: usize, groups: u32, entries: usize): void {
  for (let group: u32 = 0; group < groups; group++) {
    const a = load<f32>(query);
    const b = load<f32>(query, 4);
    const c = load<f32>(query, 8);
    const d = load<f32>(query, 12);
    const low = f32x4(-a - b, a - b, -a + b, a + b);
    v128.store(entries, f32x4.add(low, f32x4.splat(-c - d)));
    v128.store(entries, f32x4.add(low, f32x4.splat(c - d)), 16);
    v128.store(entries, f32x4.add(low, f32x4.splat(-c + d)), 32);
    v128.store(entries, f32x4.add(low, f32x4.splat(c + d)), 48);
    query += 16;
    entries += 64;
  }
}

/**
 * Rounds float32 entries, layout (groups, 16), to equal steps, each group shifted to start at zero. Writes their low bytes
 * to `low` and, unless it is 0, their high bytes to `high`, both of layout (groups, 16), and two float32 to `scale`, step and
 * shift: a sum of entries is step * (sum of rounded ones) + shift.
 */
export function roundTable(entries: usize, groups: u32, low: usize, high: usize, scale: usize): void {
  let widest: f32 = 0;
  let shifts: f64 = 0;
  for (let group: u32 = 0; group < groups; group++) {
    const at = entries + (<usize>group << 6);
    const least = smallest(at);
    widest = max<f32>(widest, largest(at) - least);
    shifts += least;
  }
  const rounded: f32 = widest / (high ? 65535 : 255);
  // A step below the normal range is imprecise or 0: values that vary so little count as constant.
  const step: f32 = rounded >= f32.MIN_NORMAL_VALUE ? rounded : 1;
  for (let group: u32 = 0; group < groups; group++) {
    const least = smallest(entries + (<usize>group << 6));
    for (let i: usize = 0; i < 16; i += 4) {
      const at = (<usize>group << 4) + i;
      const raised = f32x4.sub(v128.load(entries + (at << 2)), f32x4.splat(least));
      const steps = f32x4.nearest(f32x4.div(raised, f32x4.splat(step)));
      const words = i32x4.trunc_sat_f32x4_u(steps);
      store<u32>(low + at, bytesOf(words));
      if (high) store<u32>(high + at, bytesOf(i32x4.shr_u(words, 8)));
    }
  }
  store<f32>(scale, step);
  store<f32>(scale, <f32>shifts, 4);
}

/** The low bytes of four uint32. */
@inline
function bytesOf(words: v128): u32 {
  const low = v128.and(words, i32x4.splat(255));
  const halves = i16x8.narrow_i32x4_s(low, low);
  return <u32>i32x4.extract_lane(i8x16.narrow_i16x8_u(halves, halves), 0);
}

@inline
function smallest(at: usize): f32 {
  const least = f32x4.min(
    f32x4.min(v128.load(at), v128.load(at, 16)),
    f32x4.min(v128.load(at, 32), v128.load(at, 48)),
  );
  return min<f32>(
    min<f32>(f32x4.extract_lane(least, 0), f32x4.extract_lane(least, 1)),
    min<f32>(f32x4.extract_lane(least, 2), f32x4.extract_lane(least, 3)),
  );
}

@inline
function largest(at: usize): f32 {
  const most = f32x4.max(
    f32x4.max(v128.load(at), v128.load(at, 16)),
    f32x4.max(v128.load(at, 32), v128.load(at, 48)),
  );
  return max<f32>(
    max<f32>(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
    max<f32>(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
  );
}
