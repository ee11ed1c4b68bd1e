/** Sets of rows as bits: row r is bit r mod 32 of word r / 32. Bits beyond the last row are 0. */

export function noRows(rows: number): Uint32Array {
  return new Uint32Array(Math.ceil(rows / 32));
}

export function allRows(rows: number): Uint32Array {
  const bits = noRows(rows).fill(0xffffffff);
  if (rows % 32 !== 0) bits[bits.length - 1] = 2 ** (rows % 32) - 1;
  return bits;
}

export function hasRow(bits: Uint32Array, row: number): boolean {
  return ((bits[row >>> 5] >>> (row & 31)) & 1) === 1;
}

export function addRow(bits: Uint32Array, row: number): void {
  bits[row >>> 5] |= 1 << (row & 31);
}

export function addRows(bits: Uint32Array, more: Uint32Array): void {
  for (let i = 0; i < bits.length; i++) bits[i] |= more[i];
}

export function keepRows(bits: Uint32Array, kept: Uint32Array): void {
  for (let i = 0; i < bits.length; i++) bits[i] &= kept[i];
}

export function removeRows(bits: Uint32Array, removed: Uint32Array): void {
  for (let i = 0; i < bits.length; i++) bits[i] &= ~removed[i];
}

/** How many of the rows `from` to `end` are in the set. */
export function countRows(bits: Uint32Array, from: number, end: number): number {
  let count = 0;
  for (let word = from >>> 5; word << 5 < end; word++) count += ones(within(bits, word, from, end));
  return count;
}

/** Those of the rows `from` to `end` that are in the set, ascending. */
export function rowsIn(bits: Uint32Array, from: number, end: number): number[] {
  const rows: number[] = [];
  for (let word = from >>> 5; word << 5 < end; word++) {
    for (let left = within(bits, word, from, end); left !== 0; left &= left - 1) {
      rows.push((word << 5) + 31 - Math.clz32(left & -left));
    }
  }
  return rows;
}

/** The bits of one word that stand for rows `from` to `end`. */
function within(bits: Uint32Array, word: number, from: number, end: number): number {
  const first = word << 5;
  let part = bits[word];
  if (first < from) part &= 0xffffffff << (from - first);
  if (end - first < 32) part &= 2 ** (end - first) - 1;
  return part;
}

function ones(word: number): number {
  let n = word - ((word >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The first of n indices, in whose order `isBeyond` turns from false to true, for which it is true; n if there is none. */
export function firstIndex(n: number, isBeyond: (i: number) => boolean): number {
  let low = 0;
  for (let end = n; low < end;) {
    const middle = (low + end) >>> 1;
    if (isBeyond(middle)) end = middle;
    else low = middle + 1;
  }
  return low;
}
