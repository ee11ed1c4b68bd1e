/** WordPiece: the longest pieces of a vocabulary that make up a word, from its beginning. */

import { plainLengthMax, PlainPieces } from "./plain-pieces";
import { isPlain, wordsIn } from "./words";

/** The id of every word that the vocabulary's pieces do not make up, and its name. */
export const unknownId = 0;
const unknownName = "[UNK]";
const charactersMax = 100;
/** Words remembered with their pieces. Most texts use few words that are not pieces themselves. */
const rememberedMax = 20_000;
/** Ids between two pauses: a few milliseconds, if every word has to be cut. */
const idsTogether = 2048;

export class Vocabulary {
  /** Ids by piece. A piece that continues a word begins with `##`. */
  readonly #ids = new Map<string, number>();
  /** Of the longest piece, without `##`. */
  #pieceLengthMax = 0;
  readonly #remembered = new Map<string, readonly number[]>();
  readonly #plain: PlainPieces;

  /** `count`: of the pieces that will be added. */
  constructor(count: number) {
    this.#plain = new PlainPieces(count);
  }

  /** The pieces of the next ids. */
  add(pieces: readonly string[]): void {
    for (const piece of pieces) {
      this.#ids.set(piece, this.#ids.size);
      const length = piece.startsWith("##") ? piece.length - 2 : piece.length;
      this.#pieceLengthMax = Math.max(this.#pieceLengthMax, length);
    }
    this.#plain.add(pieces);
  }

  /** The ids of the text's pieces, in order: all of a short text at once, else some at a time, with pauses in between. */
  *tokenize(text: string): Generator<readonly number[], void> {
    let ids: number[] = [];
    let isFirst = true;
    // The unknown piece's own name, written out in a text, is that piece and ends the word before it.
    for (const part of text.split(unknownName)) {
      if (!isFirst) ids.push(unknownId);
      isFirst = false;
      if (part.length <= plainLengthMax && isPlain(part)) {
        this.#plain.addIds(part.toLowerCase(), ids, (word) => this.#piecesOf(word));
        if (ids.length < idsTogether) continue;
        yield ids;
        ids = [];
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
    const characters = Array.from(word);
    if (characters.length > charactersMax) return [unknownId];
    const pieces: number[] = [];
    for (let start = 0; start < characters.length;) {
      let end = Math.min(characters.length, start + this.#pieceLengthMax);
      let id: number | undefined;
      for (; end > start && id === undefined; end--) {
        id = this.#ids.get((start > 0 ? "##" : "") + characters.slice(start, end).join(""));
      }
      if (id === undefined) return [unknownId];
      pieces.push(id);
      start = end + 1;
    }
    return pieces;
  }
}
