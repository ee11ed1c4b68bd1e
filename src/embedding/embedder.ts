/** What turns texts into vectors. A LangChain `Embeddings` object is an `Embedder` by structure. */

export interface Embedder {
  /** One vector per text, in order, all of one dimension. */
  embedDocuments(texts: string[]): Promise<number[][]>;
  embedQuery(text: string): Promise<number[]>;
}

/** An embedder whose dimension is known before it has seen a text. */
export interface NamedEmbedder extends Embedder {
  readonly dimension: number;
}
