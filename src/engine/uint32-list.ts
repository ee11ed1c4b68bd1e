/** Unsigned 32-bit integers, to whose end more are added. */
export class Uint32List {
  #words = new Uint32Array(1024);
  length = 0;

  push(word: number): void {
    if (this.length === this.#words.length) {
      const longer = new Uint32Array(2 * this.length);
      longer.set(this.#words);
      this.#words = longer;
    }
    this.#words[this.length++] = word;
  }

  /** What was added, valid until more is. */
  view(): Uint32Array {
    return this.#words.subarray(0, this.length);
  }
}
