/** The columns of one block, opened. */

import type { CachedValue } from "./cache-group.js";
import { Column } from "./column.js";
import { Page } from "./page.js";

const columns = { name: "metadata columns", mayBeAbsent: false, bytesMin: 4 };

/** Columns of one group of rows, each decoded when it is first asked for. */
export class ColumnPage implements CachedValue {
  readonly bytes: number;
  readonly plaintext: Uint8Array;
  readonly #parts: readonly Uint8Array[];
  readonly #rows: number;
  readonly #columns: Column[] = [];

  /** `plaintext`: a page (see page.ts) of `count` columns of `rows` rows. */
  constructor(plaintext: Uint8Array, count: number, rows: number) {
    const page = new Page(plaintext, count, columns);
    this.#parts = Array.from({ length: count }, (_, i) => page.entry(i) as Uint8Array);
    this.#rows = rows;
    this.plaintext = plaintext;
    this.bytes = decodedShare * plaintext.buffer.byteLength;
  }

  column(i: number): Column {
    return (this.#columns[i] ??= new Column(this.#parts[i], this.#rows));
  }
}

/** Memory of decoded columns and their bytes, as a multiple of the bytes: values of few characters weigh most. */
const decodedShare = 4;
