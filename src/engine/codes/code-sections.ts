/** Codes of the rows of a block: a codec stores n rows as sections, such as vectors and then signs. */

import { SealdexError } from "../../errors.js";
import { bytesAt } from "../kernels/memory.js";

/** Rows that codecs lay out, and kernels scan, together. */
export const rowsTogether = 32;

/** Codes of n rows. */
export interface RowCodes {
  readonly codes: Uint8Array;
  readonly n: number;
}

/** Bytes of each section of the codes of n rows. */
export type Sections = (n: number) => readonly number[];

/** Bytes of the codes of n rows. */
export function bytesOf(sections: Sections, n: number): number {
  return sections(n).reduce((sum, length) => sum + length, 0);
}

/** Throws `corrupt` unless codes are as long as those of their rows are. Where they are shorter, kernel memory keeps older values. */
export function checkLength({ codes, n }: RowCodes, sections: Sections): void {
  const expected = bytesOf(sections, n);
  if (codes.length === expected) return;
  throw new SealdexError(
    "corrupt",
    `code block: expected ${expected} bytes of ${n} rows, got ${codes.length}`,
  );
}

/** Copies codes into kernel memory, each section to one of `addresses`. */
export function copySections({ codes, n }: RowCodes, sections: Sections, addresses: readonly number[]): void {
  let start = 0;
  sections(n).forEach((length, section) => {
    bytesAt(addresses[section], length).set(codes.subarray(start, start + length));
    start += length;
  });
}
