/**
 * A cross-encoder as a LangChain document compressor, for example for
 * `ContextualCompressionRetriever`.
 */

import type { DocumentInterface } from "@langchain/core/documents";
import { BaseDocumentCompressor } from "@langchain/core/retrievers/document_compressors";
import { type ModelOptions, modelOptionTable } from "../embedding/model-options.js";
import { Models } from "../embedding/models.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { rankBest, type RerankInput, type Reranker } from "../embedding/reranker.js";

/** Options of `SealdexReranker`. */
export interface SealdexRerankerParams extends ModelOptions {
  /** The name of a cross-encoder, for example `ms-marco-MiniLM-L-6-v2`, or a scoring function. */
  readonly model: RerankInput;
  /** Documents to keep. Default 4. */
  readonly topN?: number;
}

const paramNames = optionNames<SealdexRerankerParams>("SealdexReranker", {
  model: true,
  topN: true,
  ...modelOptionTable,
});

/**
 * Keeps the documents with the best scores, best first, with the score as `relevanceScore` in the
 * metadata.
 */
export class SealdexReranker extends BaseDocumentCompressor {
  readonly topN: number;
  readonly #reranker: Reranker;

  constructor(params: SealdexRerankerParams) {
    super();
    params = takeOptions(params, paramNames);
    const { model, topN = 4, ...options } = params;
    this.topN = topN;
    this.#reranker = new Models(options).reranker(model);
  }

  override async compressDocuments(
    documents: DocumentInterface[],
    query: string,
  ): Promise<DocumentInterface[]> {
    const texts = documents.map(({ pageContent }) => pageContent);
    const best = await rankBest(this.#reranker, query, texts, { count: this.topN });
    return best.map(({ position, score }) => {
      const { metadata, ...document } = documents[position];
      return { ...document, metadata: { ...metadata, relevanceScore: score } };
    });
  }
}
