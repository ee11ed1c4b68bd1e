/**
 * Which items a segment speaks of: sorted fingerprints, each with the row it stands for or the mark of a
 * tombstone. Layout (n, 5) words: the fingerprint's four, then the row. FORMAT.md §4.
 */

export const entryWords = 5;
/** In place of a row: the item is deleted. */
export const tombstone = 0xffffffff;
/** Rows of one segment: keeps sorting keys exact, see below. */
export const rowsMax = 2 ** 21;

/** Entries of `rows` fingerprints (position = row) and of deleted ones, sorted. */
export function buildEntries(rows: readonly Uint8Array[], deleted: readonly Uint8Array[]): Uint32Array {
  const all = [...rows, ...deleted];
  const words = all.map((fingerprint) => fingerprintWords(fingerprint));
  // First word and position in one float64: 32 + 21 bits are exact, and typed arrays sort natively.
  const keys = Float64Array.from(words, (word, position) => word[0] * rowsMax + position).sort();
  const order = Array.from(keys, (key) => key % rowsMax);
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && words[order[end]][0] === words[order[start]][0]) end++;
    if (end - start > 1) {
      const equal = order.slice(start, end).sort((a, b) => compareWords(words[a], words[b]));
      order.splice(start, end - start, ...equal);
    }
    start = end;
  }
  const entries = new Uint32Array(entryWords * all.length);
  order.forEach((position, i) => {
    entries.set(words[position], entryWords * i);
    entries[entryWords * i + 4] = position < rows.length ? position : tombstone;
  });
  return entries;
}

/** A fingerprint's 16 bytes as four little-endian words. */
export function fingerprintWords(fingerprint: Uint8Array): Uint32Array {
  const view = new DataView(fingerprint.buffer, fingerprint.byteOffset, 16);
  return Uint32Array.of(
    view.getUint32(0, true),
    view.getUint32(4, true),
    view.getUint32(8, true),
    view.getUint32(12, true),
  );
}

export function compareWords(a: Uint32Array, b: Uint32Array): number {
  for (let i = 0; i < 4; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return 0;
}

/**
 * The row that `entries` give for a fingerprint, `tombstone`, or -1 if they do not speak of it.
 * Fingerprints are uniform, so interpolation finds the place in a few steps (Peterson, 1957).
 */
export function findEntry(entries: Uint32Array, w0: number, w1: number, w2: number, w3: number): number {
  const n = entries.length / entryWords;
  let place = Math.min(n - 1, Math.floor((w0 / 2 ** 32) * n));
  while (place > 0 && entries[place * entryWords] >= w0) place--;
  for (; place < n && place >= 0; place++) {
    const at = place * entryWords;
    if (entries[at] > w0) return -1;
    if (entries[at] === w0 && entries[at + 1] === w1 && entries[at + 2] === w2 && entries[at + 3] === w3) {
      return entries[at + 4];
    }
  }
  return -1;
}
