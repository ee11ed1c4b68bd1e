/** The k rows of greatest score, in a heap whose root is the worst of them. Of equal scores the smaller tie key is the better. */
export class BestRows {
  /** No smaller score can still enter: -Infinity until there are k rows. */
  threshold: number;
  #size = 0;
  readonly #capacity: number;
  readonly #scores: Float64Array;
  readonly #ties: Uint32Array;
  readonly #segments: Uint32Array;
  readonly #rows: Uint32Array;

  /** `capacity`: k, 0 or more. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.threshold = capacity === 0 ? Infinity : -Infinity;
    this.#scores = new Float64Array(capacity);
    this.#ties = new Uint32Array(capacity);
    this.#segments = new Uint32Array(capacity);
    this.#rows = new Uint32Array(capacity);
  }

  offer(score: number, tie: number, segment: number, row: number): void {
    if (this.#size < this.#capacity) {
      this.#rise(this.#size++, score, tie, segment, row);
    } else {
      if (this.#capacity === 0 || !this.#isWorse(0, score, tie)) return;
      this.#sink(score, tie, segment, row);
    }
    if (this.#size === this.#capacity) this.threshold = this.#scores[0];
  }

  /** The rows, best first. */
  finish(): { readonly score: number; readonly segment: number; readonly row: number }[] {
    const order = Array.from({ length: this.#size }, (_, i) => i);
    order.sort((a, b) => this.#scores[b] - this.#scores[a] || this.#ties[a] - this.#ties[b]);
    return order.map((i) => ({
      score: this.#scores[i],
      segment: this.#segments[i],
      row: this.#rows[i],
    }));
  }

  /** Whether entry i is worse than a row with this score and tie key. */
  #isWorse(i: number, score: number, tie: number): boolean {
    return this.#scores[i] < score || (this.#scores[i] === score && this.#ties[i] > tie);
  }

  #put(i: number, score: number, tie: number, segment: number, row: number): void {
    this.#scores[i] = score;
    this.#ties[i] = tie;
    this.#segments[i] = segment;
    this.#rows[i] = row;
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#scores[from], this.#ties[from], this.#segments[from], this.#rows[from]);
  }

  #rise(from: number, score: number, tie: number, segment: number, row: number): void {
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >>> 1;
      // Parents are worse than their children.
      if (this.#isWorse(parent, score, tie)) break;
      this.#move(parent, i);
      i = parent;
    }
    this.#put(i, score, tie, segment, row);
  }

  #sink(score: number, tie: number, segment: number, row: number): void {
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#isWorse(child + 1, this.#scores[child], this.#ties[child])) {
        child++;
      }
      if (!this.#isWorse(child, score, tie)) break;
      this.#move(child, i);
      i = child;
    }
    this.#put(i, score, tie, segment, row);
  }
}
