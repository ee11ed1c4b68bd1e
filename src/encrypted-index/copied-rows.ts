/** Rows that are copied out of what they were read in, whose memory can then be used again. */

import { firstIndex } from "../segment/first-index.js";
import { encodePage, Page } from "../segment/page.js";
import type { Row, Rows } from "../segment/row.js";

/** Rows that were copied together. */
interface Copies {
  readonly fingerprints: Uint8Array;
  readonly records: Page;
  readonly contents: Page;
}

export class CopiedRows implements Rows {
  readonly #parts: Copies[] = [];
  /** Where the rows of each part begin among all. */
  readonly #starts: number[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies the rows at these positions. Returns the bytes of their records and contents. */
  add(rows: Rows, positions: Uint32Array): number {
    const copied = Array.from(positions, (position) => rows.at(position));
    const fingerprints = new Uint8Array(16 * copied.length);
    copied.forEach(({ fingerprint }, i) => fingerprints.set(fingerprint, 16 * i));
    const [records, contents] = [copied.map(({ record }) => record), copied.map((row) => row.contents)].map(
      (entries) => new Page(encodePage(entries), entries.length),
    );
    this.#parts.push({ fingerprints, records, contents });
    this.#starts.push(this.#length);
    this.#length += copied.length;
    return records.plaintext.length + contents.plaintext.length;
  }

  /** Adds rows that are copied already. */
  append(rows: CopiedRows): void {
    this.#parts.push(...rows.#parts);
    this.#starts.push(...rows.#starts.map((start) => this.#length + start));
    this.#length += rows.#length;
  }

  at(position: number): Row {
    const part = firstIndex(this.#starts.length, (i) => this.#starts[i] > position) - 1;
    return new CopiedRow(this.#parts[part], position - this.#starts[part]);
  }
}

class CopiedRow implements Row {
  readonly #copies: Copies;
  readonly #row: number;

  constructor(copies: Copies, row: number) {
    this.#copies = copies;
    this.#row = row;
  }

  get fingerprint(): Uint8Array {
    return this.#copies.fingerprints.subarray(16 * this.#row, 16 * (this.#row + 1));
  }

  get record(): Uint8Array {
    return this.#copies.records.entry(this.#row) as Uint8Array;
  }

  get contents(): Uint8Array | null {
    return this.#copies.contents.entry(this.#row);
  }
}
