/** WordPiece: the longest pieces of a vocabulary that make up a word, from its beginning. */

import { PieceTable } from "./piece-table";
import { endOfWord, PlainPieces, plainTogether } from "./plain-pieces";
import { isPlain, wordsIn } from "./words";

/** The id of every word that the vocabulary's pieces do not make up, and its name. */
export const unknownId = 0;
const unknownName = "[UNK]";
const continues = "##";
const charactersMax = 100;
/** Words remembered with their pieces. Most texts use few words that are not pieces themselves. */
const rememberedMax = 20_000;
/** Ids between two pauses: a few milliseconds, if every word has to be cut. */
const idsTogether = 2048;

export class Vocabulary {
  /** Ids by piece. A piece that continues a word begins with `##`. */
  readonly #ids = new Map<string, number>();
  readonly #beginnings: PieceTable;
  /** Without `##`. */
  readonly #continuations: PieceTable;
  readonly #remembered = new Map<string, readonly number[]>();
  readonly #plain: PlainPieces;

  /** `count`: of the pieces that will be added. */
  constructor(count: number) {
    this.#plain = new PlainPieces(count);
    this.#beginnings = new PieceTable(count);
    this.#continuations = new PieceTable(count);
  }

  /** The pieces of the next ids. */
  add(pieces: readonly string[]): void {
    for (const piece of pieces) {
      const id = this.#ids.size;
      this.#ids.set(piece, id);
      this.#plain.add(piece, id);
      if (piece.startsWith(continues)) this.#continuations.add(piece.slice(continues.length), id);
      else this.#beginnings.add(piece, id);
    }
  }

  /** The ids of the text's pieces, in order: all of a short text at once, else some at a time, with pauses in between. */
  *tokenize(text: string): Generator<readonly number[], void> {
    let ids: number[] = [];
    let isFirst = true;
    // The unknown piece's own name, written out in a text, is that piece and ends the word before it.
    for (const part of text.split(unknownName)) {
      if (!isFirst) ids.push(unknownId);
      isFirst = false;
      if (isPlain(part)) {
        const folded = part.toLowerCase();
        for (let start = 0; start < folded.length;) {
          const end = endOfWord(folded, start + plainTogether);
          this.#plain.addIds(folded, { start, end }, ids, (word) => this.#piecesOf(word));
          start = end;
          if (ids.length < idsTogether) continue;
          yield ids;
          ids = [];
        }
        continue;
      }
      for (const word of wordsIn(part)) {
        if (word !== undefined) {
          const id = this.#ids.get(word);
          if (id === undefined) ids.push(...this.#piecesOf(word));
          else ids.push(id);
          if (ids.length < idsTogether) continue;
        }
        yield ids;
        ids = [];
      }
    }
    yield ids;
  }

  #piecesOf(word: string): readonly number[] {
    const known = this.#remembered.get(word);
    if (known !== undefined) return known;
    const pieces = this.#split(word);
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear();
    this.#remembered.set(word, pieces);
    return pieces;
  }

  #split(word: string): readonly number[] {
    if (isLong(word)) return [unknownId];
    const pieces: number[] = [];
    for (let start = 0; start < word.length;) {
      const { id, end } = (start > 0 ? this.#continuations : this.#beginnings).longestAt(word, start);
      if (id < 0) return [unknownId];
      pieces.push(id);
      start = end;
    }
    return pieces;
  }
}

/** Whether a word has more characters than are cut. A character is one or two UTF-16 code units. */
function isLong(word: string): boolean {
  if (word.length <= charactersMax || word.length > 2 * charactersMax) return word.length > charactersMax;
  return Array.from(word).length > charactersMax;
}
