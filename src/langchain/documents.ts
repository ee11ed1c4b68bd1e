/** LangChain documents to items of an index, and back. */

import { randomUUID } from "node:crypto";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import { invalid, isArray, typeName } from "../check-input.js";
import type { Item, Metadata, StoredItem } from "../vector-index.js";

/** Throws `invalid_request`, naming the first one that is no document. */
export function checkDocuments(documents: readonly unknown[]): void {
  if (!isArray(documents)) throw invalid(`documents: expected an array, got ${typeName(documents)}`);
  for (const [i, document] of documents.entries()) {
    const pageContent = (document as Partial<DocumentInterface> | null)?.pageContent as unknown;
    if (typeof pageContent === "string") continue;
    throw invalid(
      `documents[${i}]: expected a document whose pageContent is a string, got ${typeName(pageContent)}`,
    );
  }
}

/** One id for each document: the one given, else the document's own, else a random UUID. */
export function chooseIds(
  documents: readonly DocumentInterface[],
  ids: readonly string[] | undefined,
): string[] {
  if (ids !== undefined && ids.length !== documents.length) {
    throw invalid(`ids: expected one for each of the ${documents.length} documents, got ${ids.length}`);
  }
  return documents.map((document, i) => ids?.[i] ?? document.id ?? randomUUID());
}

export function toItems(
  vectors: readonly number[][],
  documents: readonly DocumentInterface[],
  ids: readonly string[],
): Item[] {
  if (vectors.length !== documents.length) {
    throw invalid(
      `vectors: expected one for each of the ${documents.length} documents, got ${vectors.length}`,
    );
  }
  return documents.map(({ pageContent, metadata }, i) => ({
    id: ids[i],
    vector: vectors[i],
    contents: pageContent,
    // Plain objects without metadata are accepted wherever LangChain accepts documents.
    metadata: (metadata as Metadata | undefined) ?? {},
  }));
}

/** `metadatas`: one for each text, or one for all. */
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
