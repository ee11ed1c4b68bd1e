/**
 * The k nearest of a stream of candidates: a bounded binary heap with the worst kept candidate at its root.
 *
 * Candidates are ordered by score, ascending, and among equal scores by a 128-bit tie key: four unsigned
 * words, compared one after the other. So what is kept does not depend on the order in which candidates with
 * distinct tie keys come.
 */

/** A kept candidate: its block's number, its row there, its score. */
export interface Candidate {
  readonly score: number;
  readonly block: number;
  readonly row: number;
}

export class TopK {
  readonly #capacity: number;
  /** Slots in heap order. A candidate stays in its slot; one slot more than fit is the newcomer's. */
  readonly #heap: Uint32Array;
  readonly #scores: Float64Array;
  readonly #blocks: Uint32Array;
  readonly #rows: Uint32Array;
  /** Layout (slots, 4). */
  readonly #ties: Uint32Array;
  #size = 0;
  #spareSlot = 0;
  #threshold: number;

  /** Keeps at most `capacity` candidates, 0 or more; takes 36 bytes for each at once. */
  constructor(capacity: number) {
    const slots = capacity + 1;
    this.#capacity = capacity;
    this.#heap = new Uint32Array(capacity);
    this.#scores = new Float64Array(slots);
    this.#blocks = new Uint32Array(slots);
    this.#rows = new Uint32Array(slots);
    this.#ties = new Uint32Array(4 * slots);
    this.#threshold = capacity === 0 ? -Infinity : Infinity;
  }

  /** No greater score can still enter. Infinity until full, then the worst kept; -Infinity if none fits. */
  get threshold(): number {
    return this.#threshold;
  }

  /** Offers a candidate. `block`, `row` and the words of the tie key are uint32; a NaN score is never kept. */
  push(score: number, block: number, row: number, t0: number, t1: number, t2: number, t3: number): void {
    if (!(score <= this.#threshold) || this.#capacity === 0) return;
    const slot = this.#spareSlot;
    this.#scores[slot] = score;
    this.#blocks[slot] = block;
    this.#rows[slot] = row;
    this.#ties[4 * slot] = t0;
    this.#ties[4 * slot + 1] = t1;
    this.#ties[4 * slot + 2] = t2;
    this.#ties[4 * slot + 3] = t3;
    if (this.#size < this.#capacity) {
      this.#siftUp(this.#size++, slot);
      this.#spareSlot = this.#size;
    } else if (this.#compare(slot, this.#heap[0]) < 0) {
      this.#spareSlot = this.#heap[0];
      this.#siftDown(slot);
    }
    if (this.#size === this.#capacity) this.#threshold = this.#scores[this.#heap[0]];
  }

  /** The kept candidates, nearest first. */
  sorted(): Candidate[] {
    const slots = this.#heap.subarray(0, this.#size).toSorted((a, b) => this.#compare(a, b));
    return Array.from(slots, (slot) => ({
      score: this.#scores[slot],
      block: this.#blocks[slot],
      row: this.#rows[slot],
    }));
  }

  /** Negative if the candidate in slot a is nearer than that in slot b. */
  #compare(a: number, b: number): number {
    if (this.#scores[a] !== this.#scores[b]) return this.#scores[a] < this.#scores[b] ? -1 : 1;
    for (let word = 0; word < 4; word++) {
      const difference = this.#ties[4 * a + word] - this.#ties[4 * b + word];
      if (difference !== 0) return difference;
    }
    return 0;
  }

  #siftUp(position: number, slot: number): void {
    while (position > 0) {
      const parent = (position - 1) >>> 1;
      if (this.#compare(slot, this.#heap[parent]) <= 0) break;
      this.#heap[position] = this.#heap[parent];
      position = parent;
    }
    this.#heap[position] = slot;
  }

  /** Puts `slot` in place of the root. */
  #siftDown(slot: number): void {
    let position = 0;
    for (;;) {
      let child = 2 * position + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#compare(this.#heap[child + 1], this.#heap[child]) > 0) child++;
      if (this.#compare(this.#heap[child], slot) <= 0) break;
      this.#heap[position] = this.#heap[child];
      position = child;
    }
    this.#heap[position] = slot;
  }
}
