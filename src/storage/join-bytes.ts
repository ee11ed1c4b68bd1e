/** Puts parts of a blob together. */

import { nextTurn } from "../threads/yield-to-event-loop.js";

/** As much as is copied in a few milliseconds, even into memory that is touched for the first time. */
const pieceBytes = 2 ** 20;

/** The parts as one, in memory of its own. Between pieces of large ones other work has its turn. */
export async function joinBytes(parts: readonly Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  const { buffer } = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.length, 0));
  const bytes = new Uint8Array(buffer);
  let end = 0;
  for (const part of parts) {
    for (let start = 0; start < part.length; start += pieceBytes) {
      if (start > 0) await nextTurn();
      const piece = part.subarray(start, start + pieceBytes);
      bytes.set(piece, end);
      end += piece.length;
    }
  }
  return bytes;
}
