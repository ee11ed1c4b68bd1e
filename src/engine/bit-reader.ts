/** Reads what `BitWriter` wrote. Bits are numbered from the lowest one of the first byte on. */

/** So many bytes more than there are may be read. */
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

  /** Reads the `count` integers of the vector at bit `at`, and returns the bit after it. */
  vector(at: number, count: number, into: Uint32Array): number {
    const view = this.#view;
    const head = view.getUint16(at >>> 3, true) >>> (at & 7);
    const lowBits = head & 31;
    let next = at + 6;
    if (lowBits === 0) into.fill(0, 0, count);
    else {
      const mask = 2 ** lowBits - 1;
      for (let i = 0; i < count; i++) {
        into[i] = (view.getUint32(next >>> 3, true) >>> (next & 7)) & mask;
        next += lowBits;
      }
    }
    return (head & 32) === 0 ? next : this.#addHighParts(next, count, lowBits, into);
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
