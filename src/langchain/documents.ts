/** Converts LangChain documents to items of an index and back. */

import { randomUUID } from "node:crypto";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import { invalid, isArray, typeName } from "../check-input.js";
import { type JsonText, takeJson } from "../json-text.js";
import type { Item, Metadata, StoredItem, Vector } from "../vector-index.js";

/** A copied document. */
export interface TakenDocument {
  readonly id: string;
  readonly pageContent: string;
  readonly metadata: JsonText;
}

/**
 * Copies the documents. `ids`: one per document; default: the document's own, or a random UUID.
 * Throws `invalid_request`, naming the first invalid document.
 */
export function takeDocuments(
  documents: readonly DocumentInterface[],
  ids: readonly string[] | undefined,
): TakenDocument[] {
  if (!isArray(documents)) throw invalid(`documents: expected an array, got ${typeName(documents)}`);
  if (ids !== undefined && ids.length !== documents.length) {
    throw invalid(`ids: expected one for each of the ${documents.length} documents, got ${ids.length}`);
  }
  return Array.from(documents, (document: Partial<DocumentInterface> | null, i) => {
    const pageContent: unknown = document?.pageContent;
    if (typeof pageContent !== "string") {
      throw invalid(
        `documents[${i}]: expected a document whose pageContent is a string, got ${typeName(pageContent)}`,
      );
    }
    return {
      id: ids?.[i] ?? document?.id ?? randomUUID(),
      pageContent,
      // LangChain accepts plain objects without metadata as documents.
      metadata: takeJson(document?.metadata ?? {}, `documents[${i}].metadata`),
    };
  });
}

export function toItems(vectors: readonly Vector[], documents: readonly TakenDocument[]): Item[] {
  if (vectors.length !== documents.length) {
    throw invalid(
      `vectors: expected one for each of the ${documents.length} documents, got ${vectors.length}`,
    );
  }
  return documents.map(({ id, pageContent, metadata }, i) => ({
    id,
    vector: vectors[i],
    contents: pageContent,
    metadata,
  }));
}

/** `metadatas`: one per text, or one for all. */
export function toDocuments(texts: readonly string[], metadatas: object[] | object): Document[] {
  if (Array.isArray(metadatas) && metadatas.length !== texts.length) {
    throw invalid(`metadatas: expected one for each of the ${texts.length} texts, got ${metadatas.length}`);
  }
  return texts.map((pageContent, i) => {
    const metadata = (Array.isArray(metadatas) ? metadatas[i] : metadatas) as Metadata;
    return new Document({ pageContent, metadata });
  });
}

export function toDocument({ id, contents = "", metadata = {} }: StoredItem): Document {
  return new Document({ id, pageContent: contents, metadata });
}
