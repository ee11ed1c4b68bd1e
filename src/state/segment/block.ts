/** Sealed blocks of a segment: where they lie, and which rows they hold. */

import type { KeyOf } from "../cache/cache-group.js";
import type { Page } from "./page.js";

/** A sealed block within the object. */
export interface Block {
  /** Its number, for the cipher. */
  readonly number: number;
  /** Where it starts in the object, in bytes. */
  readonly offset: number;
  /** Sealed length, in bytes. */
  readonly length: number;
}

/** Rows `firstRow` to `firstRow + rows` of the segment. */
export interface RowBlock extends Block {
  readonly firstRow: number;
  readonly rows: number;
}

/** A page of records or of contents. */
export interface PageBlock extends RowBlock, KeyOf<Page> {}
