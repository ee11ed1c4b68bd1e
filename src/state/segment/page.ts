/** A page: entries of rows side by side, such as their records. docs/internals/format.md §4. */

import { SealdexError } from "../../errors.js";
import { expectStored } from "../../checks/stored-json.js";
import type { CachedValue } from "../cache/cache-group.js";

/** The kind of a page's entries. */
export interface PageEntries {
  /** For messages. */
  readonly name: string;
  /** Whether a row may have none. */
  readonly mayBeAbsent: boolean;
  /** The least bytes of an entry. */
  readonly bytesMin: number;
  /** Whether an entry, from `start` to `end` of its page, is well-formed. */
  readonly isOne?: (page: Uint8Array, start: number, end: number) => boolean;
}

/** Instead of a length that takes `width` bytes: there is no entry. */
function absent(width: number): number {
  return 2 ** (8 * width) - 1;
}

/** Bytes of each length in a page whose longest entry has this many bytes. */
function widthFor(longest: number): number {
  return [1, 2].find((width) => longest < absent(width)) ?? 4;
}

/** Bytes of a page. */
export function encodedPageBytes(entries: number, longest: number, bytesOfAll: number): number {
  return 1 + widthFor(longest) * entries + bytesOfAll;
}

/** u8 width of lengths, the length of each entry, then the entries. */
export function encodePage(entries: readonly (Uint8Array | null)[]): Uint8Array {
  const longest = entries.reduce((most, entry) => Math.max(most, entry?.length ?? 0), 0);
  const width = widthFor(longest);
  const head = Buffer.alloc(1 + width * entries.length);
  head[0] = width;
  const present: Uint8Array[] = [head];
  entries.forEach((entry, i) => {
    head.writeUIntLE(entry?.length ?? absent(width), 1 + width * i, width);
    if (entry !== null) present.push(entry);
  });
  return Buffer.concat(present);
}

/** A page of `n` entries, opened. Throws `corrupt` unless it is one. */
export class Page implements CachedValue {
  readonly bytes: number;
  readonly plaintext: Uint8Array;
  /** Where each entry ends, as an offset from the first. */
  readonly #ends: Uint32Array;
  /** Bytes of each length. */
  readonly #width: number;

  /** Keeps `page`. */
  constructor(page: Uint8Array, n: number, { name, mayBeAbsent, bytesMin, isOne }: PageEntries) {
    // Views of a Uint8Array are made faster than those of a Buffer.
    this.plaintext = new Uint8Array(page.buffer, page.byteOffset, page.length);
    const [width] = page;
    let end = 1 + width * n;
    const expectLength = (isSo: boolean) => expectStored(isSo, `page of ${name}`, "lengths that fit it");
    expectLength([1, 2, 4].includes(width) && end <= page.length);
    const lengths = new DataView(page.buffer, page.byteOffset, page.length);
    this.#ends = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      const length = lengthAt(lengths, i, width);
      const start = end;
      const isAbsent = length === absent(width);
      if (!isAbsent) end += length;
      this.#ends[i] = end;
      if (isAbsent && mayBeAbsent) continue;
      const isWhole = !isAbsent && length >= bytesMin && end <= page.length;
      if (!isWhole || isOne?.(page, start, end) === false) {
        throw new SealdexError("corrupt", `page of ${name}: expected an entry ${i} that is one`);
      }
    }
    expectLength(end === page.length);
    this.#width = width;
    this.bytes = page.buffer.byteLength + this.#ends.byteLength;
  }

  /** Entry `i` as a view of the page; null if it is absent. */
  entry(i: number): Uint8Array | null {
    const start = this.startOf(i);
    const end = this.#ends[i];
    if (start === end && this.plaintext[1 + this.#width * i] === 0xff) return null;
    return this.plaintext.subarray(start, end);
  }

  /** Where an entry that is present begins in `plaintext`. */
  startOf(i: number): number {
    return i === 0 ? 1 + this.#width * this.#ends.length : this.#ends[i - 1];
  }
}

function lengthAt(lengths: DataView, i: number, width: number): number {
  if (width === 1) return lengths.getUint8(1 + i);
  return width === 2 ? lengths.getUint16(1 + 2 * i, true) : lengths.getUint32(1 + 4 * i, true);
}
