/** What turns texts into vectors, and what a caller may give for it. */

/** Components of a text's vector, each finite as float32. */
export type EmbeddedVector = readonly number[] | Float32Array;

/** A LangChain `Embeddings` object is an `Embedder` by structure. */
export interface Embedder {
  /** One vector per text, in order, all of one dimension. */
  embedDocuments(texts: string[]): Promise<readonly EmbeddedVector[]>;
  embedQuery(text: string): Promise<EmbeddedVector>;
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

/** How the vectors of a text's tokens become one: their mean, or the first token's. */
export type Pooling = "mean" | "cls";

/** The name of a model, a pipeline, a LangChain `Embeddings` object, or a function. */
export type EmbeddingInput = string | Embedder | EmbeddingPipeline | EmbeddingFunction;
