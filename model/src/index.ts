/**
 * `sealdex-model`: texts to vectors by a table of token vectors, distilled from all-MiniLM-L6-v2. English. The vector of
 * a text is the sum of the rows of its tokens, scaled to Euclidean norm 1; word order does not count.
 *
 * It needs no network and no native code, and gives the same vectors on every machine: components and scales are sums
 * of few bits, so that a sum in double precision hardly rounds.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TokenTable } from "./token-table";
import { Vocabulary } from "./vocabulary";

const data = join(__dirname, "..", "data");

interface Model {
  readonly vocabulary: Vocabulary;
  readonly table: TokenTable;
}

let loaded: Model | undefined;

/** Components of a vector. */
export const dimension = 256;

/** Changes whenever the same text may give another vector. */
export const revision = "static-minilm-256-int4-1";

/** The vector of `text`: 256 components of Euclidean norm 1, or all 0 if no token of it is in the table. */
export function embed(text: string): Float32Array {
  const work = embedInPieces(text);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** As `embed`, with a pause every few milliseconds: 1 MiB of text takes up to a second. */
export function* embedInPieces(text: string): Generator<void, Float32Array> {
  const { vocabulary, table } = model();
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
  return [...model().vocabulary.tokenize(text)].flat();
}

/** Read when first used: some 20 ms. */
function model(): Model {
  loaded ??= {
    vocabulary: new Vocabulary(readFileSync(join(data, "vocab.txt"), "utf8").split("\n")),
    table: new TokenTable(join(data, "model_int4.safetensors")),
  };
  return loaded;
}
