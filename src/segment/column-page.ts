/** The columns of one block, opened. */

import { SealdexError } from "../errors.js";
import type { CachedValue } from "./cache-group.js";
import { Column } from "./column.js";

/** Columns of one group of rows, each decoded when it is first asked for. */
export class ColumnPage implements CachedValue {
  readonly bytes: number;
  readonly plaintext: Uint8Array;
  readonly #parts: readonly Uint8Array[];
  readonly #rows: number;
  readonly #columns: Column[] = [];

  /** `plaintext`: a page (see page.ts) of `count` columns of `rows` rows. */
  constructor(plaintext: Uint8Array, count: number, rows: number) {
    const view = new DataView(plaintext.buffer, plaintext.byteOffset, plaintext.byteLength);
    let at = 4 * count;
    if (at > plaintext.length) throw misfit();
    this.#parts = Array.from({ length: count }, (_, i) => {
      const start = at;
      at += view.getUint32(4 * i, true);
      if (at > plaintext.length) throw misfit();
      return plaintext.subarray(start, at);
    });
    if (at !== plaintext.length) throw misfit();
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

function misfit(): SealdexError {
  return new SealdexError("corrupt", "metadata columns: their lengths do not fit the block's");
}
