/**
 * The ids of the words of short texts in plain ASCII, which nearly all are: read in one pass, without a string per word. A word
 * is looked up by a hash of its characters.
 */

/** The longest text that is read without a pause, in characters. */
export const plainLengthMax = 2048;

const wordKind = 1;
const loneKind = 2;
/** By character: 0 separates words, 1 is part of a word, 2 is a word of its own. Upper case is folded before. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[0-9a-z]/.test(character)) return wordKind;
  return /[!-/:-@[-`{-~]/.test(character) ? loneKind : 0;
});

const plainWord = /^(?:[0-9a-z]+|[!-/:-@[-`{-~])$/;
const hashBasis = 0x811c9dc5;
/** FNV-1a's. */
const hashPrime = 0x01000193;

export class PlainPieces {
  readonly #pieces: string[] = [];
  /** Ids plus 1, 0 for a free slot; probed linearly, at most half full. */
  readonly #slots: Int32Array;

  /** `count`: of the pieces that will be added. */
  constructor(count: number) {
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 1)));
  }

  /** The pieces of the next ids. Those that are no plain word are not found. */
  add(pieces: readonly string[]): void {
    const mask = this.#slots.length - 1;
    for (const piece of pieces) {
      this.#pieces.push(piece);
      if (!plainWord.test(piece)) continue;
      let hash = hashBasis;
      for (let i = 0; i < piece.length; i++) hash = Math.imul(hash ^ piece.charCodeAt(i), hashPrime);
      let slot = mixed(hash) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = this.#pieces.length;
    }
  }

  /** Adds the ids of the words of a plain text in lower case. `idsOf`: of a word that is no piece. */
  addIds(text: string, ids: number[], idsOf: (word: string) => readonly number[]): void {
    for (let at = 0; at < text.length;) {
      const start = at;
      const first = text.charCodeAt(at++);
      const kind = kinds[first];
      if (kind === 0) continue;
      let hash = Math.imul(hashBasis ^ first, hashPrime);
      if (kind === wordKind) {
        for (; at < text.length; at++) {
          const code = text.charCodeAt(at);
          if (kinds[code] !== wordKind) break;
          hash = Math.imul(hash ^ code, hashPrime);
        }
      }
      const id = this.#find(text, start, at, hash);
      if (id >= 0) ids.push(id);
      else for (const piece of idsOf(text.slice(start, at))) ids.push(piece);
    }
  }

  /** The id of the piece that is this part of the text, or -1. */
  #find(text: string, start: number, end: number, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = mixed(hash) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const id = slots[slot] - 1;
      const piece = this.#pieces[id];
      if (piece.length !== end - start) continue;
      let same = 0;
      while (same < piece.length && piece.charCodeAt(same) === text.charCodeAt(start + same)) same++;
      if (same === piece.length) return id;
    }
    return -1;
  }
}

/** FNV's low bits depend on few of a short word's. */
function mixed(hash: number): number {
  return hash ^ (hash >>> 15);
}
