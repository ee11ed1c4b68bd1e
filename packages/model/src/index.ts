/**
 * `sealdex-model`: texts to vectors by a table of token vectors, distilled from all-MiniLM-L6-v2. English. The vector of
 * a text is the sum of the rows of its tokens, scaled to Euclidean norm 1; word order does not count.
 *
 * It needs no network and no native code, and gives the same vectors on every machine: components and scales are sums
 * of few bits, so that a sum in double precision hardly rounds.
 */

import { parts, tokenCount } from "./packed-data";
import { TokenTable } from "./token-table";
import { Vocabulary } from "./vocabulary";

interface Model {
  readonly vocabulary: Vocabulary;
  readonly table: TokenTable;
}

let reading: Generator<void, Model> | undefined;
let loaded: Model | undefined;

/** Components of a vector. */
export const dimension = 256;

/** Changes whenever the same text may give another vector. */
export const revision = "static-minilm-256-int4-1";

/** The vector of `text`: 256 components of Euclidean norm 1, or all 0 if no token of it is in the table. */
export function embed(text: string): Float32Array {
  return finish(embedInPieces(text));
}

/** As `embed`, with a pause every few milliseconds: 1 MiB of text takes up to a second, the first call some 50 ms. */
export function* embedInPieces(text: string): Generator<void, Float32Array> {
  const { vocabulary, table } = yield* model();
  const sums = new Float64Array(dimension);
  for (const ids of vocabulary.tokenize(text)) {
    table.addRows(ids, sums);
    yield;
  }
  let squares = 0;
  for (let i = 0; i < dimension; i++) squares += sums[i] * sums[i];
  const norm = Math.sqrt(squares);
  const vector = new Float32Array(dimension);
  if (norm > 0) for (let i = 0; i < dimension; i++) vector[i] = sums[i] / norm;
  return vector;
}

/** The ids of a text's tokens, in order: WordPiece over the table's vocabulary, 0 for what it does not know. */
export function tokenIds(text: string): readonly number[] {
  return [...finish(model()).vocabulary.tokenize(text)].flat();
}

/** Read when first used. Calls that come meanwhile take turns at it. */
function* model(): Generator<void, Model> {
  while (loaded === undefined) {
    reading ??= read();
    try {
      const step = reading.next();
      if (step.done) loaded = step.value;
    } catch (error) {
      reading = undefined;
      throw error;
    }
    if (loaded === undefined) yield;
  }
  return loaded;
}

function* read(): Generator<void, Model> {
  const vocabulary = new Vocabulary(tokenCount);
  const table = new TokenTable(tokenCount, dimension);
  let first = 0;
  for (const readPart of parts) {
    yield;
    const part = readPart();
    const pieces = part.pieces.split("\n");
    vocabulary.add(pieces);
    yield;
    table.setRows(first, part);
    first += pieces.length;
  }
  return { vocabulary, table };
}

function finish<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
