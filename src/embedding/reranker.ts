/**
 * Scores documents against a query: by a named cross-encoder, which reads both at once and is more
 * precise than the distance of two vectors, a LangChain document compressor, or a function.
 */

import { SealdexError } from "../errors.js";

/** One score per document, in order; larger is better. `signal` belongs to the calling query. */
export type Reranker = (
  query: string,
  documents: string[],
  signal?: AbortSignal,
) => Promise<readonly number[]> | readonly number[];

/** LangChain's `BaseDocumentCompressor`, by structure. Documents that it drops are dropped. */
export interface DocumentCompressor {
  compressDocuments(
    documents: { pageContent: string; metadata: Record<string, unknown> }[],
    query: string,
  ): Promise<
    readonly { readonly pageContent: string; readonly metadata: Readonly<Record<string, unknown>> }[]
  >;
}

/**
 * The name of a cross-encoder, for example `ms-marco-MiniLM-L-6-v2`, a document compressor, or a
 * function.
 */
export type RerankInput = string | DocumentCompressor | Reranker;

/** The `count` best documents, best first, with their positions in the input. */
export async function rankBest(
  reranker: Reranker,
  query: string,
  documents: string[],
  { count, signal }: { readonly count: number; readonly signal?: AbortSignal | undefined },
): Promise<{ position: number; score: number }[]> {
  if (documents.length === 0) return [];
  const scores: unknown = await reranker(query, documents, signal);
  if (!Array.isArray(scores) || scores.length !== documents.length || !scores.every(isScore)) {
    throw new SealdexError(
      "invalid_request",
      `rerank: expected ${documents.length} numbers, one per document`,
    );
  }
  return scores
    .map((score: number, position) => ({ position, score }))
    .filter(({ score }) => score !== -Infinity)
    .sort((a, b) => b.score - a.score || a.position - b.position)
    .slice(0, count);
}

/** Throws `invalid_request` for anything but a compressor or a function. */
export function customReranker(input: Exclude<RerankInput, string>): Reranker {
  if (typeof input === "function") return input;
  if (typeof input?.compressDocuments === "function") return (query, texts) => compress(input, query, texts);
  throw new SealdexError(
    "invalid_request",
    `rerank: expected the name of a cross-encoder, a document compressor or a function, got ${typeof input}`,
  );
}

/**
 * Uses scores in the metadata if there are any, otherwise the order. Dropped documents score
 * -Infinity.
 */
async function compress(compressor: DocumentCompressor, query: string, texts: string[]): Promise<number[]> {
  const documents = texts.map((pageContent, position) => ({ pageContent, metadata: { position } }));
  const kept = await compressor.compressDocuments(documents, query);
  const scores = texts.map(() => -Infinity);
  kept.forEach(({ metadata }, rank) => {
    const { relevanceScore } = metadata;
    scores[Number(metadata.position)] =
      typeof relevanceScore === "number" ? relevanceScore : kept.length - rank;
  });
  return scores;
}

/** NaN is invalid; -Infinity drops the document. */
function isScore(score: unknown): boolean {
  return typeof score === "number" && !Number.isNaN(score);
}
