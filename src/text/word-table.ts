/**
 * Maps ASCII words of at most 12 letters, which most words are, to numbers. A lookup neither slices
 * the word out of its text nor follows a pointer. Hostile texts cause evictions, not slow lookups.
 */

const wordsMin = 1 << 10;
const wordsMax = 1 << 19;
/** Slots where a word may be. */
const probes = 8;
/** 32-bit words per slot: the letters, four in each, and the value. */
const slotWords = 4;

export class WordTable {
  #slots = new Int32Array(slotWords * wordsMin);
  #stored = 0;

  /**
   * The value of a word, or undefined. `a`, `b` and `c` are its letters 1 to 4, 5 to 8 and 9 to 12,
   * one byte each, the last one lowest.
   */
  get(a: number, b: number, c: number): number | undefined {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hashOf(a, b, c) & mask;
    for (let probe = 0; probe < probes; probe++) {
      if (slots[at] === a && slots[at + 1] === b && slots[at + 2] === c) return slots[at + 3];
      if (slots[at] === 0) return undefined;
      at = (at + slotWords) & mask;
    }
    return undefined;
  }

  /** Adds a new word. */
  set(a: number, b: number, c: number, value: number): void {
    const size = this.#slots.length / slotWords;
    if (2 * this.#stored >= size && size < wordsMax) this.#grow();
    this.#place(a, b, c, value);
  }

  /** Stores into the first free slot, or replaces a word. */
  #place(a: number, b: number, c: number, value: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hashOf(a, b, c) & mask;
    for (let probe = 1; probe < probes && slots[at] !== 0; probe++) at = (at + slotWords) & mask;
    if (slots[at] === 0) this.#stored++;
    slots[at] = a;
    slots[at + 1] = b;
    slots[at + 2] = c;
    slots[at + 3] = value;
  }

  #grow(): void {
    const slots = this.#slots;
    this.#slots = new Int32Array(2 * slots.length);
    this.#stored = 0;
    for (let at = 0; at < slots.length; at += slotWords) {
      if (slots[at] !== 0) this.#place(slots[at], slots[at + 1], slots[at + 2], slots[at + 3]);
    }
  }
}

function hashOf(a: number, b: number, c: number): number {
  let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  // Index of a slot's first 32-bit word.
  return (hash ^ (hash >>> 13)) << 2;
}
