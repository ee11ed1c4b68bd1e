/**
 * Numbers of ASCII words of at most 12 letters, by these: most words of most texts are among them. A word is looked up without cutting it out
 * of its text, and without a pointer to follow. Hostile texts make it forget, not slow.
 */

const sizeMin = 1 << 10;
const sizeMax = 1 << 19;
/** Slots in which a word may be. */
const probes = 8;
/** Words per slot: the letters, four in each, and the value. */
const slotWords = 4;

export class WordTable {
  #slots = new Int32Array(slotWords * sizeMin);
  #stored = 0;

  /**
   * The value of a word, or undefined. `a`, `b` and `c`: its letters 1 to 4, 5 to 8 and 9 to 12, each as one byte, the last one lowest.
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

  /** Adds a word that is not there. */
  set(a: number, b: number, c: number, value: number): void {
    const size = this.#slots.length / slotWords;
    if (2 * this.#stored >= size && size < sizeMax) this.#grow();
    this.#place(a, b, c, value);
  }

  /** In the first free slot of its own, or in place of another. */
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
  // Of a slot's first word.
  return (hash ^ (hash >>> 13)) << 2;
}
