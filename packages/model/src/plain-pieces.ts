/** The ids of the words of texts in plain ASCII, which nearly all are: read in one pass, without a string per word. */

import { emptyHash, hashWith, PieceTable } from "./piece-table";

/** Characters that are read without a pause, about. */
export const plainTogether = 2048;

const wordKind = 1;
const loneKind = 2;
/** By character: 0 separates words, 1 is part of a word, 2 is a word of its own. Upper case is folded before. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[0-9a-z]/.test(character)) return wordKind;
  return /[!-/:-@[-`{-~]/.test(character) ? loneKind : 0;
});

const plainWord = /^(?:[0-9a-z]+|[!-/:-@[-`{-~])$/;

/** The first position from `from` on at which a plain text in lower case may be cut: not within a word. */
export function endOfWord(text: string, from: number): number {
  let at = Math.min(from, text.length);
  while (at < text.length && kinds[text.charCodeAt(at)] === wordKind) at++;
  return at;
}

export class PlainPieces {
  readonly #table: PieceTable;

  /** `countMax`: of the pieces that will be added. */
  constructor(countMax: number) {
    this.#table = new PieceTable(countMax);
  }

  /** A piece that is no plain word is not found. */
  add(piece: string, id: number): void {
    if (plainWord.test(piece)) this.#table.add(piece, id);
  }

  /** Adds the ids of the words of a part of a plain text in lower case. `idsOf`: of a word that is no piece. */
  addIds(
    text: string,
    { start: from, end: to }: { readonly start: number; readonly end: number },
    ids: number[],
    idsOf: (word: string) => readonly number[],
  ): void {
    for (let at = from; at < to;) {
      const start = at;
      const first = text.charCodeAt(at++);
      const kind = kinds[first];
      if (kind === 0) continue;
      let hash = hashWith(emptyHash, first);
      if (kind === wordKind) {
        for (; at < to; at++) {
          const code = text.charCodeAt(at);
          if (kinds[code] !== wordKind) break;
          hash = hashWith(hash, code);
        }
      }
      const id = this.#table.find(text, start, at, hash);
      if (id >= 0) ids.push(id);
      else for (const piece of idsOf(text.slice(start, at))) ids.push(piece);
    }
  }
}
