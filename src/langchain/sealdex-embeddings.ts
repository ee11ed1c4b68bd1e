/** The models that Sealdex knows by name as a LangChain `Embeddings` class. */

import { Embeddings } from "@langchain/core/embeddings";
import { embedderByName } from "../embedding/built-in.js";
import type { Embedder } from "../embedding/embedder.js";

export interface SealdexEmbeddingsParams {
  /** Name of an embedding model. Default `default`, which matches meaning and wording and needs no download. */
  readonly model?: string;
}

/**
 * Embeddings by the name of a model, for every part of LangChain; an `EncryptedVectorStore` takes the name itself. The
 * vectors are those of an index with that `embeddingModel`. Throws `invalid_request` for an unknown name.
 */
export class SealdexEmbeddings extends Embeddings {
  readonly model: string;
  readonly #embedder: Embedder;

  constructor({ model = "default" }: SealdexEmbeddingsParams = {}) {
    super({});
    this.#embedder = embedderByName(model);
    this.model = model;
  }

  /** One vector per text, in order. */
  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return this.#embedder.embedDocuments(texts);
  }

  override async embedQuery(text: string): Promise<number[]> {
    return this.#embedder.embedQuery(text);
  }
}
