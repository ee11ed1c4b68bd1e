import { nextTurn } from "../threads/yield-to-event-loop.js";

/** Copied in a few milliseconds, even into memory that is touched for the first time. */
const pieceBytes = 2 ** 20;

/** Copies the parts into one new array. Yields to the event loop between pieces of large ones. */
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
