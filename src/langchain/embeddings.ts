/** Named models of Sealdex as a LangChain `Embeddings` class. */

import { Embeddings, type EmbeddingsInterface } from "@langchain/core/embeddings";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { lexicalEmbedder } from "../embedding/built-in.js";
import type { Embedder } from "../embedding/embedder.js";
import type { Image } from "../embedding/image.js";
import { type ModelOptions, modelOptionTable } from "../embedding/model-options.js";
import { Models } from "../embedding/models.js";
import { embedImage } from "./add-images.js";
import { chooseEmbeddings, sealdexModel } from "./choose-embeddings.js";
import { toNumbers } from "./to-numbers.js";

/** Options of `SealdexEmbeddings`. */
export interface SealdexEmbeddingsParams extends ModelOptions {
  /**
   * Name of an embedding model. Default `default`, which matches meaning and wording and needs no
   * download.
   */
  readonly model?: string;
}

const paramNames = optionNames<SealdexEmbeddingsParams>("SealdexEmbeddings", {
  model: true,
  ...modelOptionTable,
});

/**
 * Embeddings by model name, for every part of LangChain; an `EncryptedVectorStore` also accepts the
 * name itself. The vectors equal those of an index with this `embeddingModel`. Throws
 * `invalid_request` for an invalid name or an unknown option.
 */
export class SealdexEmbeddings extends Embeddings {
  readonly model: string;
  readonly [sealdexModel]: string;
  readonly #embeddings: EmbeddingsInterface;

  constructor(params: SealdexEmbeddingsParams = {}) {
    super({});
    params = takeOptions(params, paramNames);
    const { model = "default", ...options } = params;
    this.#embeddings = chooseEmbeddings(model, new Models(options));
    this.model = model;
    this[sealdexModel] = model;
  }

  /** One vector per text, in order. */
  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return this.#embeddings.embedDocuments(texts);
  }

  override async embedQuery(text: string): Promise<number[]> {
    return this.#embeddings.embedQuery(text);
  }

  /**
   * One vector per image, in order, in the same space as texts. Throws `invalid_request` for a
   * text-only model.
   */
  async embedImage(images: Image[]): Promise<number[][]> {
    const vectors: number[][] = [];
    for (const [i, image] of images.entries()) {
      vectors.push((await embedImage(image, false, this.#embeddings, `images[${i}]`)).vector);
    }
    return vectors;
  }

  async embedImageQuery(image: Image): Promise<number[]> {
    const [vector] = await this.embedImage([image]);
    return vector;
  }
}

// The built-in lexical embedder as a LangChain `Embeddings` class.

interface LexicalEmbeddingsParams {
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
