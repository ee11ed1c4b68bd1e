/** The sealed blocks of one object that is being written, until they are joined. */

import { type ObjectContext, ObjectSealer, type ParentKeys } from "../../crypto/sealed-object.js";
import { pieceBytes, type Work } from "../../engine/work.js";

export class SealedParts {
  readonly #sealer: ObjectSealer;
  /** The object as far as it was expected to be long; the first `#length` bytes are written. */
  readonly #bytes: Uint8Array;
  #length = 0;
  /** The rest, if it is longer. */
  readonly #rest: Uint8Array[] = [];
  #bytesSincePause = 0;

  /** `expectedBytes`: of the object. Memory for more than needed is never touched; of an object that is longer, all is copied once more. */
  constructor(keys: ParentKeys, context: ObjectContext, expectedBytes: number) {
    this.#sealer = new ObjectSealer(keys, context);
    this.#bytes = Buffer.allocUnsafeSlow(expectedBytes);
    this.#append(this.#sealer.header);
  }

  /** Blocks sealed so far. */
  get blocks(): number {
    return this.#sealer.blocks;
  }

  /** Seals one block, in pieces to be concatenated, and returns its sealed length. */
  seal(...plaintext: readonly Uint8Array[]): number {
    const sealed = this.#sealer.sealPieces(plaintext);
    for (const piece of sealed) this.#append(piece);
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
    const written = this.#bytes.subarray(0, this.#length);
    if (this.#rest.length === 0) return written;
    const parts = [written, ...this.#rest];
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

  #append(piece: Uint8Array): void {
    if (this.#rest.length > 0 || this.#length + piece.length > this.#bytes.length) {
      this.#rest.push(piece);
      return;
    }
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
  }
}
