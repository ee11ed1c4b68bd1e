/**
 * Fast scan (Andre, Kermarrec and Le Scouarnec, 2015): sums of table entries for 32 rows at a time.
 *
 * A row has one nibble per group of four dimensions; a table has 16 bytes per group. One swizzle looks up 16 nibbles. Bytes are
 * summed in pairs, as 16-bit lanes: once unchanged, once shifted right by 8, so that the sum of the low bytes is the whole minus
 * 256 times the sum of the high bytes. 16 bits hold the sums of 256 groups; longer rows are summed in pieces.
 */

const groupsMax: u32 = 256;

/**
 * `codes` has layout (blocks, groups, 16); byte 2 * (r % 8) + (r / 8) % 2 of a group holds row r of the block, in its low
 * nibble for r < 16, else in its high nibble. `table` has layout (groups, 16). Writes 32 * blocks uint32 `sums`.
 */
export function fastScan(codes: usize, table: usize, blocks: u32, groups: u32, sums: usize): void {
  const blockBytes = <usize>groups << 4;
  for (let block: u32 = 0; block < blocks; block++) {
    const at = codes + <usize>block * blockBytes;
    const to = sums + (<usize>block << 7);
    sumGroups(at, table, min<u32>(groups, groupsMax), to, false);
    for (let first = groupsMax; first < groups; first += groupsMax) {
      const skip = <usize>first << 4;
      sumGroups(at + skip, table + skip, min<u32>(groups - first, groupsMax), to, true);
    }
  }
}

@inline
function sumGroups(codes: usize, table: usize, groups: u32, to: usize, add: bool): void {
  const low4 = i8x16.splat(0x0f);
  let low = i16x8.splat(0);
  let lowOdd = i16x8.splat(0);
  let high = i16x8.splat(0);
  let highOdd = i16x8.splat(0);
  const end = codes + (<usize>groups << 4);
  for (; codes < end; codes += 16, table += 16) {
    const nibbles = v128.load(codes);
    const entries = v128.load(table);
    const first = lookUp(entries, v128.and(nibbles, low4));
    const second = lookUp(entries, v128.and(i16x8.shr_u(nibbles, 4), low4));
    low = i16x8.add(low, first);
    lowOdd = i16x8.add(lowOdd, i16x8.shr_u(first, 8));
    high = i16x8.add(high, second);
    highOdd = i16x8.add(highOdd, i16x8.shr_u(second, 8));
  }
  storeSums(i16x8.sub(low, i16x8.shl(lowOdd, 8)), to, add);
  storeSums(lowOdd, to + 32, add);
  storeSums(i16x8.sub(high, i16x8.shl(highOdd, 8)), to + 64, add);
  storeSums(highOdd, to + 96, add);
}

/** Entries up to this value are summed in bytes for eight groups before they are widened, which saves a third of the work. */
export const smallEntryMax: u32 = 31;
const smallTogether: usize = 8 * 16;

/** As `fastScan`, faster, for a multiple of eight groups and a table of entries up to `smallEntryMax`. */
export function fastScanSmall(codes: usize, table: usize, blocks: u32, groups: u32, sums: usize): void {
  const low4 = i8x16.splat(0x0f);
  for (let block: u32 = 0; block < blocks; block++) {
    let low = i16x8.splat(0);
    let lowOdd = i16x8.splat(0);
    let high = i16x8.splat(0);
    let highOdd = i16x8.splat(0);
    const end = codes + (<usize>groups << 4);
    for (let entries = table; codes < end; codes += smallTogether, entries += smallTogether) {
      let first = i8x16.splat(0);
      let second = i8x16.splat(0);
      for (let i: usize = 0; i < smallTogether; i += 16) {
        const nibbles = v128.load(codes + i);
        const row = v128.load(entries + i);
        first = i8x16.add(first, lookUp(row, v128.and(nibbles, low4)));
        second = i8x16.add(second, lookUp(row, v128.and(i16x8.shr_u(nibbles, 4), low4)));
      }
      low = i16x8.add(low, first);
      lowOdd = i16x8.add(lowOdd, i16x8.shr_u(first, 8));
      high = i16x8.add(high, second);
      highOdd = i16x8.add(highOdd, i16x8.shr_u(second, 8));
    }
    const to = sums + (<usize>block << 7);
    storeSums(i16x8.sub(low, i16x8.shl(lowOdd, 8)), to, false);
    storeSums(lowOdd, to + 32, false);
    storeSums(i16x8.sub(high, i16x8.shl(highOdd, 8)), to + 64, false);
    storeSums(highOdd, to + 96, false);
  }
}

/** Writes eight 16-bit sums as uint32 to `to`, or adds them to the values there. */
@inline
function storeSums(sums: v128, to: usize, add: bool): void {
  let first = i32x4.extend_low_i16x8_u(sums);
  let second = i32x4.extend_high_i16x8_u(sums);
  if (add) {
    first = i32x4.add(first, v128.load(to));
    second = i32x4.add(second, v128.load(to, 16));
  }
  v128.store(to, first);
  v128.store(to, second, 16);
}

/** Looks up bytes of a table of 16: result[i] = table[places[i]], for places of 0 to 15. */
@inline
export function lookUp(table: v128, places: v128): v128 {
  // For these places the relaxed instruction has one result on every processor; it is the cheaper one.
  return ASC_FEATURE_RELAXED_SIMD ? i8x16.relaxed_swizzle(table, places) : i8x16.swizzle(table, places);
}
