/** Pages of records or of contents that were read. An entry is a view that is made when it is asked for. */

import type { PageBlock } from "./block.js";
import { firstIndex } from "./row-bits.js";
import type { Page } from "./page.js";

export interface ReadPage {
  readonly block: PageBlock;
  readonly page: Page;
}

export class RowPages {
  readonly #pages: readonly ReadPage[];

  /** `pages`: in the order of their rows, kept. */
  constructor(pages: readonly ReadPage[]) {
    this.#pages = pages;
  }

  /** The entry of a row, which must be in one of the pages; null if it is absent. */
  entry(row: number): Uint8Array | null {
    const next = firstIndex(this.#pages.length, (i) => this.#pages[i].block.firstRow > row);
    const { block, page } = this.#pages[next - 1];
    return page.entry(row - block.firstRow);
  }
}
