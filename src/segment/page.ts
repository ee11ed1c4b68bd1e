/** A page: entries of rows side by side, such as their records. FORMAT.md §4. */

import type { CachedValue } from "./cache-group.js";

const absent = 0xffffffff;

/** u32 length of each entry (0xffffffff: absent), then the entries. */
export function encodePage(entries: readonly (Uint8Array | null)[]): Uint8Array {
  const lengths = Buffer.alloc(4 * entries.length);
  const present: Uint8Array[] = [lengths];
  entries.forEach((entry, i) => {
    lengths.writeUInt32LE(entry === null ? absent : entry.length, 4 * i);
    if (entry !== null) present.push(entry);
  });
  return Buffer.concat(present);
}

/** A page of `n` entries, opened. */
export class Page implements CachedValue {
  readonly bytes: number;
  readonly plaintext: Uint8Array;
  /** Where each entry ends, as an offset from the first. */
  readonly #ends: Uint32Array;

  /** Keeps `page`. */
  constructor(page: Uint8Array, n: number) {
    const lengths = new DataView(page.buffer, page.byteOffset, 4 * n);
    // Views of a Uint8Array are made faster than those of a Buffer.
    this.plaintext = new Uint8Array(page.buffer, page.byteOffset, page.length);
    this.#ends = new Uint32Array(n);
    let end = 4 * n;
    for (let i = 0; i < n; i++) {
      const length = lengths.getUint32(4 * i, true);
      if (length !== absent) end += length;
      this.#ends[i] = end;
    }
    this.bytes = page.buffer.byteLength + this.#ends.byteLength;
  }

  /** Entry `i` as a view of the page; null if it is absent. */
  entry(i: number): Uint8Array | null {
    const start = this.startOf(i);
    const end = this.#ends[i];
    if (start === end && this.#isAbsent(i)) return null;
    return this.plaintext.subarray(start, end);
  }

  /** Where an entry that is present begins in `plaintext`. */
  startOf(i: number): number {
    return i === 0 ? 4 * this.#ends.length : this.#ends[i - 1];
  }

  #isAbsent(i: number): boolean {
    const at = 4 * i;
    return [0, 1, 2, 3].every((byte) => this.plaintext[at + byte] === 0xff);
  }
}
