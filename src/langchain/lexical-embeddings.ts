/** The built-in lexical embedder as a LangChain `Embeddings` class. */

import { Embeddings } from "@langchain/core/embeddings";
import { lexicalEmbedder } from "../embedding/built-in.js";
import type { Embedder } from "../embedding/embedder.js";
import { optionNames, takeOptions } from "../option-names.js";
import { toNumbers } from "./to-numbers.js";

export interface LexicalEmbeddingsParams {
  /** Components of a vector, an integer from 16 to 8,192. Default 512. */
  readonly dimension?: number;
}

const paramNames = optionNames<LexicalEmbeddingsParams>("LexicalEmbeddings", { dimension: true });

/**
 * Embeddings that need no download, key or network. They are lexical: texts are near when they share words, or parts
 * of words; synonyms and translations are not near. Vectors have Euclidean norm 1, and are the same on every machine;
 * a text without letters or digits gives zeros. The same vectors as the embedding model `sealdex/lexical-<dimension>`.
 * Throws `invalid_request` for any other dimension.
 */
export class LexicalEmbeddings extends Embeddings {
  readonly dimension: number;
  readonly #embedder: Embedder;

  constructor(params: LexicalEmbeddingsParams = {}) {
    super({});
    params = takeOptions(params, paramNames);
    const { dimension = 512 } = params;
    this.#embedder = lexicalEmbedder(dimension);
    this.dimension = dimension;
  }

  /** One vector for each text, in order. Large batches give way to other work in between. */
  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return (await this.#embedder.embedDocuments(texts)).map(toNumbers);
  }

  override async embedQuery(text: string): Promise<number[]> {
    return toNumbers(await this.#embedder.embedQuery(text));
  }
}
