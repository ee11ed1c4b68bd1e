/** The built-in lexical embedder as a LangChain `Embeddings` class. */

import { Embeddings } from "@langchain/core/embeddings";
import { lexicalEmbedder } from "../embedding/built-in.js";
import type { Embedder } from "../embedding/embedder.js";
import { optionNames, takeOptions } from "../option-names.js";
import { toNumbers } from "./to-numbers.js";

export interface LexicalEmbeddingsParams {
  /** Dimension of the vectors, an integer from 16 to 8,192. Default 512. */
  readonly dimension?: number;
}

const lexicalParamNames = optionNames<LexicalEmbeddingsParams>("LexicalEmbeddings", { dimension: true });

/**
 * Embeddings without download, key or network. They are lexical: texts are similar if they share
 * words or parts of words; synonyms and translations are not. Vectors have norm 1 and are equal on
 * every machine; a text without letters or digits gives zeros. They equal those of the model
 * `sealdex/lexical-<dimension>`. Throws `invalid_request` for other dimensions.
 */
export class LexicalEmbeddings extends Embeddings {
  readonly dimension: number;
  readonly #embedder: Embedder;

  constructor(params: LexicalEmbeddingsParams = {}) {
    super({});
    params = takeOptions(params, lexicalParamNames);
    const { dimension = 512 } = params;
    this.#embedder = lexicalEmbedder(dimension);
    this.dimension = dimension;
  }

  /** One vector per text, in order. Yields to the event loop in large batches. */
  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return (await this.#embedder.embedDocuments(texts)).map(toNumbers);
  }

  override async embedQuery(text: string): Promise<number[]> {
    return toNumbers(await this.#embedder.embedQuery(text));
  }
}
