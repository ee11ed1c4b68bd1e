/** The sealed blocks of one object that is being written, until they are joined. */

import { type ObjectContext, ObjectSealer, type ParentKeys } from "../crypto/sealed-object.js";
import { pieceBytes, type Work } from "../engine/work.js";

export class SealedParts {
  readonly #sealer: ObjectSealer;
  readonly #parts: Uint8Array[];
  #bytesSincePause = 0;

  constructor(keys: ParentKeys, context: ObjectContext) {
    this.#sealer = new ObjectSealer(keys, context);
    this.#parts = [this.#sealer.header];
  }

  /** Blocks sealed so far. */
  get blocks(): number {
    return this.#sealer.blocks;
  }

  /** Seals one block, in pieces to be concatenated, and returns its sealed length. */
  seal(...plaintext: readonly Uint8Array[]): number {
    const sealed = this.#sealer.sealPieces(plaintext);
    this.#parts.push(...sealed);
    const length = sealed.reduce((sum, piece) => sum + piece.length, 0);
    this.#bytesSincePause += length;
    return length;
  }

  /** Pauses if a piece of work has been sealed since the last pause. */
  *pauseIfDue(): Work<void> {
    if (this.#bytesSincePause < pieceBytes) return;
    this.#bytesSincePause = 0;
    yield;
  }

  /** Header and blocks as one object. */
  *join(): Work<Uint8Array> {
    const parts = this.#parts;
    const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    let copied = 0;
    for (const part of parts) {
      for (let start = 0; start < part.length; start += pieceBytes) {
        const piece = part.subarray(start, start + pieceBytes);
        bytes.set(piece, at + start);
        copied += piece.length;
        if (copied < pieceBytes) continue;
        copied = 0;
        yield;
      }
      at += part.length;
    }
    return bytes;
  }
}
