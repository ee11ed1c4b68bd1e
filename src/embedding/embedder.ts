/** Types of embedders and of the embedding models that callers may pass. */

import { SealdexError } from "../errors.js";
import type { ImageSource } from "./read-image.js";

/** Components of a vector, each finite as float32. */
export type EmbeddedVector = readonly number[] | Float32Array;

/** A LangChain `Embeddings` object is an `Embedder` by structure. */
export interface Embedder {
  /** One vector per text, in order, all of one dimension. */
  embedDocuments(texts: string[]): Promise<readonly EmbeddedVector[]>;
  embedQuery(text: string): Promise<EmbeddedVector>;
  /** One vector per image, in order, in the same space as texts. Absent for text-only models. */
  embedImage?(images: ImageSource[]): Promise<readonly EmbeddedVector[]>;
}

/** One vector per text, in order, all of one dimension. */
export type EmbeddingFunction = (
  texts: string[],
) => Promise<readonly EmbeddedVector[]> | readonly EmbeddedVector[];

/** A feature-extraction pipeline of `@huggingface/transformers` or `@xenova/transformers`: a function with properties. */
export interface EmbeddingPipeline {
  readonly model: unknown;
  readonly tokenizer: unknown;
}

/** Turns token vectors into one vector: by their mean, or by the first token. */
export type Pooling = "mean" | "cls";

/** A model's name, a pipeline, a LangChain `Embeddings` object, or a function. */
export type EmbeddingInput = string | Embedder | EmbeddingPipeline | EmbeddingFunction;

/**
 * One vector per image. Throws `invalid_request` for a text-only model. `where` names the images in
 * messages.
 */
export async function embedImages(
  embedder: Embedder,
  images: ImageSource[],
  where: string,
): Promise<readonly EmbeddedVector[]> {
  if (images.length === 0) return [];
  if (embedder.embedImage === undefined) {
    throw new SealdexError(
      "invalid_request",
      `${where}: the embedding model embeds no images; clip-vit-base-patch32 does`,
    );
  }
  const vectors: unknown = await embedder.embedImage(images);
  if (Array.isArray(vectors) && vectors.length === images.length) return vectors as EmbeddedVector[];
  throw new SealdexError(
    "invalid_request",
    `${where}: expected one vector for each of ${images.length} images`,
  );
}
