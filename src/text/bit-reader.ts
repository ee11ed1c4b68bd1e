/** Reads the bits that `BitWriter` wrote, from the lowest bit of the first byte on. */

import { lowBitsMax } from "./bit-writer.js";
import { badPostings } from "./postings.js";

/** Reads may reach this many bytes beyond the end. */
const slack = 8;

export class BitReader {
  /** In memory, in bytes. */
  readonly bytes: number;
  readonly plaintext: Uint8Array;
  readonly #view: DataView;
  readonly #words: Uint32Array;

  /** Copies `plaintext`. */
  constructor(plaintext: Uint8Array) {
    const buffer = new ArrayBuffer(4 * Math.ceil((plaintext.length + slack) / 4));
    this.bytes = buffer.byteLength;
    this.plaintext = new Uint8Array(buffer, 0, plaintext.length);
    this.plaintext.set(plaintext);
    this.#view = new DataView(buffer);
    this.#words = new Uint32Array(buffer);
  }

  /** The bit `at`. */
  bit(at: number): number {
    return (this.plaintext[at >>> 3] >>> (at & 7)) & 1;
  }

  /** Reads the `count` integers of the vector at bit `at`, and returns the bit after it. Throws `corrupt` if they are more bits than there are. */
  vector(at: number, count: number, into: Uint32Array): number {
    const view = this.#view;
    let next = at + 6;
    this.#checkEnd(next);
    const head = view.getUint16(at >>> 3, true) >>> (at & 7);
    const lowBits = head & 31;
    if (lowBits > lowBitsMax) throw badPostings(`at most ${lowBitsMax} low bits`);
    this.#checkEnd(next + count * lowBits);
    if (lowBits === 0) into.fill(0, 0, count);
    else {
      const mask = 2 ** lowBits - 1;
      for (let i = 0; i < count; i++) {
        into[i] = (view.getUint32(next >>> 3, true) >>> (next & 7)) & mask;
        next += lowBits;
      }
    }
    if ((head & 32) === 0) return next;
    next = this.#addHighParts(next, count, lowBits, into);
    this.#checkEnd(next);
    return next;
  }

  #checkEnd(end: number): void {
    if (end > 8 * this.plaintext.length) throw badPostings("a vector to end where its chunk does, or before");
  }

  /** Each is as many zeros as it says, and a one. */
  #addHighParts(start: number, count: number, lowBits: number, into: Uint32Array): number {
    const words = this.#words;
    let at = start >>> 5;
    let ones = words[at] & (-1 << (start & 31));
    let next = start;
    for (let i = 0; i < count; i++) {
      while (ones === 0) ones = words[++at];
      const one = 32 * at + 31 - Math.clz32(ones & -ones);
      ones &= ones - 1;
      into[i] += (one - next) << lowBits;
      next = one + 1;
    }
    return next;
  }
}
