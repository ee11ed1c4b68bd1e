/** Bits that grow, from the lowest bit of the first byte on. */

const sizeMin = 2 ** 10;
/** Readers take low parts from 32 bits that begin at a byte. */
export const lowBitsMax = 24;
/** Bytes for which a loop takes less time than making a view. */
const copiedOneByOne = 32;
/** In the six bits before a vector, next to its low bits. */
const highFollows = 2 ** 5;

export class BitWriter {
  #words = new Uint32Array(sizeMin);
  #bytes = new Uint8Array(this.#words.buffer);
  #at = 0;
  /** The last bits, which do not fill a word, and how many they are. */
  #rest = 0;
  #used = 0;

  /** Bytes needed for the bits written. */
  get length(): number {
    return 4 * this.#at + ((this.#used + 7) >>> 3);
  }

  /** `width`: at most 25. `value`: below 2^width. */
  put(value: number, width: number): void {
    this.#rest |= value << this.#used;
    this.#used += width;
    if (this.#used < 32) return;
    if (this.#at + 1 === this.#words.length) this.#grow();
    this.#words[this.#at++] = this.#rest;
    this.#used -= 32;
    this.#rest = value >>> (width - this.#used);
  }

  /**
   * Integers from 0 to 2^32 - 1 in a Rice code (Rice and Plaunt, 1971): the number of low bits, in 5 bits; in one bit, whether high parts
   * follow; the low bits of each integer; then the high part of each in unary, as zeros and a one. `BitReader.vector` reads it.
   */
  putVector(values: Uint32Array, count: number): void {
    const shape = count === 1 ? shapeOfOne(values[0]) : shapeOf(values, count);
    this.put(shape, 6);
    const lowBits = shape & (highFollows - 1);
    if (lowBits > 0) this.#putLowParts(values, count, lowBits);
    if (shape >= highFollows) this.#putHighParts(values, count, lowBits);
  }

  /** As `put` does, in variables: most of the time of writing postings is spent here. */
  #putLowParts(values: Uint32Array, count: number, lowBits: number): void {
    const mask = 2 ** lowBits - 1;
    const end = this.#at + Math.ceil((this.#used + count * lowBits) / 32);
    while (end >= this.#words.length) this.#grow();
    const words = this.#words;
    let at = this.#at;
    let rest = this.#rest;
    let used = this.#used;
    for (let i = 0; i < count; i++) {
      const value = values[i] & mask;
      rest |= value << used;
      used += lowBits;
      if (used < 32) continue;
      words[at++] = rest;
      used -= 32;
      rest = value >>> (lowBits - used);
    }
    this.#at = at;
    this.#rest = rest;
    this.#used = used;
  }

  #putHighParts(values: Uint32Array, count: number, lowBits: number): void {
    let words = this.#words;
    let at = this.#at;
    let rest = this.#rest;
    let used = this.#used;
    for (let i = 0; i < count; i++) {
      used += values[i] >>> lowBits;
      for (; used >= 32; used -= 32) {
        if (at + 1 === words.length) words = this.#grow();
        words[at++] = rest;
        rest = 0;
      }
      rest |= 1 << used;
      if (++used < 32) continue;
      if (at + 1 === words.length) words = this.#grow();
      words[at++] = rest;
      rest = 0;
      used = 0;
    }
    this.#at = at;
    this.#rest = rest;
    this.#used = used;
  }

  clear(): void {
    this.#at = 0;
    this.#rest = 0;
    this.#used = 0;
  }

  /** The bits written, valid until more are. The last byte is filled up with zeros. */
  view(): Uint8Array {
    this.#words[this.#at] = this.#rest;
    return this.#bytes.subarray(0, this.length);
  }

  /** Copies the bits written to `into`, from `start` on. */
  copyTo(into: Uint8Array, start: number): void {
    const { length } = this;
    this.#words[this.#at] = this.#rest;
    if (length > copiedOneByOne) into.set(this.view(), start);
    else for (let i = 0; i < length; i++) into[start + i] = this.#bytes[i];
  }

  #grow(): Uint32Array<ArrayBuffer> {
    const longer = new Uint32Array(2 * this.#words.length);
    longer.set(this.#words);
    this.#words = longer;
    this.#bytes = new Uint8Array(longer.buffer);
    return longer;
  }
}

/** The shortest way to write these: the low bits, and whether high parts follow. */
function shapeOf(values: Uint32Array, count: number): number {
  let max = 0;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const value = values[i];
    sum += value;
    if (value > max) max = value;
  }
  const width = 32 - Math.clz32(max);
  // With high parts, as many low bits as the mean has, less one, or one fewer.
  const more = Math.max(0, Math.min(lowBitsMax, 31 - Math.clz32(sum / Math.max(1, count))));
  const fewer = Math.max(0, more - 1);
  let moreCost = count * (more + 1);
  let fewerCost = count * (fewer + 1);
  for (let i = 0; i < count; i++) {
    moreCost += values[i] >>> more;
    fewerCost += values[i] >>> fewer;
  }
  if (width <= lowBitsMax && count * width <= Math.min(moreCost, fewerCost)) return width;
  return highFollows + (fewerCost < moreCost ? fewer : more);
}

/** As `shapeOf`: most terms are in one row alone. */
function shapeOfOne(value: number): number {
  const width = 32 - Math.clz32(value);
  return width <= lowBitsMax ? width : highFollows + lowBitsMax;
}
