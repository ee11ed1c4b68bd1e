/**
 * Codes of rows that follow one another, in pieces that were encoded each by itself. What a codec stores of n rows are sections, such as
 * vectors and then signs. In a block of all rows, each section is that of one piece after the other.
 */

import { SealdexError } from "../../errors.js";
import { bytesAt } from "../kernels/memory.js";

/** Rows that codecs lay out, and kernels scan, together: all pieces but the last have a multiple of it. */
export const rowsTogether = 32;

export interface CodePiece {
  readonly codes: Uint8Array;
  readonly n: number;
}

/** Bytes of each section of the codes of n rows. */
export type Sections = (n: number) => readonly number[];

/** Bytes of the codes of n rows. */
export function bytesOf(sections: Sections, n: number): number {
  return sections(n).reduce((sum, length) => sum + length, 0);
}

/** Throws `corrupt` unless a piece is as long as codes of its rows are. Where one is shorter, kernel memory keeps what it held before. */
export function checkLength({ codes, n }: CodePiece, sections: Sections): void {
  const expected = bytesOf(sections, n);
  if (codes.length === expected) return;
  throw new SealdexError(
    "corrupt",
    `code block: expected ${expected} bytes of ${n} rows, got ${codes.length}`,
  );
}

export function rowsIn(pieces: readonly CodePiece[]): number {
  return pieces.reduce((sum, { n }) => sum + n, 0);
}

/** Where each of some sections begins if they follow one another from `start` on. */
export function consecutive(start: number, lengths: readonly number[]): number[] {
  let end = start;
  return lengths.map((length) => (end += length) - length);
}

/** Copies all pieces into kernel memory, each section to one of `addresses`. */
export function copyPieces(
  pieces: readonly CodePiece[],
  sections: Sections,
  addresses: readonly number[],
): void {
  forEachSection(pieces, sections, (section, offset, bytes) =>
    bytesAt(addresses[section] + offset, bytes.length).set(bytes),
  );
}

/** The codes of all rows in one piece. */
export function joinPieces(pieces: readonly CodePiece[], sections: Sections): Uint8Array {
  if (pieces.length === 1) return pieces[0].codes;
  const lengths = sections(rowsIn(pieces));
  const starts = consecutive(0, lengths);
  const joined = new Uint8Array(bytesOf(sections, rowsIn(pieces)));
  forEachSection(pieces, sections, (section, offset, bytes) => joined.set(bytes, starts[section] + offset));
  return joined;
}

/** Calls `write` with all bytes: the section that they are of, and where in it they begin. */
function forEachSection(
  pieces: readonly CodePiece[],
  sections: Sections,
  write: (section: number, offset: number, bytes: Uint8Array) => void,
): void {
  const written = sections(0).map(() => 0);
  for (const { codes, n } of pieces) {
    const lengths = sections(n);
    const starts = consecutive(0, lengths);
    lengths.forEach((length, section) => {
      write(section, written[section], codes.subarray(starts[section], starts[section] + length));
      written[section] += length;
    });
  }
}
