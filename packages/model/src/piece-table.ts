/** Pieces of a vocabulary, looked up in a text by a hash of their characters: without a string per look-up. */

const hashBasis = 0x811c9dc5;
/** FNV-1a's. */
const hashPrime = 0x01000193;

/** The hash of no characters. */
export const emptyHash = hashBasis;

/** The hash of the characters so far and one more. */
export function hashWith(hash: number, code: number): number {
  return Math.imul(hash ^ code, hashPrime);
}

export class PieceTable {
  readonly #pieces: string[] = [];
  readonly #ids: number[] = [];
  /** Positions in both plus 1, 0 for a free slot; probed linearly, at most half full. */
  readonly #slots: Int32Array;
  /** Of the longest piece, in UTF-16 code units. */
  #lengthMax = 0;

  /** `countMax`: of the pieces that will be added. */
  constructor(countMax: number) {
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * countMax + 1)));
  }

  /** Adds a piece that is not there yet. */
  add(piece: string, id: number): void {
    const mask = this.#slots.length - 1;
    let hash = emptyHash;
    for (let i = 0; i < piece.length; i++) hash = hashWith(hash, piece.charCodeAt(i));
    let slot = mixed(hash) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#pieces.push(piece);
    this.#ids.push(id);
    this.#slots[slot] = this.#pieces.length;
    this.#lengthMax = Math.max(this.#lengthMax, piece.length);
  }

  /** The id of the piece that is this part of the text, whose hash is `hash`, or -1. */
  find(text: string, start: number, end: number, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = mixed(hash) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const at = slots[slot] - 1;
      const piece = this.#pieces[at];
      if (piece.length !== end - start) continue;
      let same = 0;
      while (same < piece.length && piece.charCodeAt(same) === text.charCodeAt(start + same)) same++;
      if (same === piece.length) return this.#ids[at];
    }
    return -1;
  }

  /** The end of the longest piece that the text has at `start`, and its id; an id of -1: there is none. */
  longestAt(text: string, start: number): { readonly id: number; readonly end: number } {
    let longest = { id: -1, end: start };
    const last = Math.min(text.length, start + this.#lengthMax);
    let hash = emptyHash;
    for (let at = start; at < last; at++) {
      hash = hashWith(hash, text.charCodeAt(at));
      const id = this.find(text, start, at + 1, hash);
      if (id >= 0) longest = { id, end: at + 1 };
    }
    return longest;
  }
}

/** FNV's low bits depend on few of a short word's. */
function mixed(hash: number): number {
  return hash ^ (hash >>> 15);
}
