/** Converts LangChain documents to items of an index and back. */

import { randomUUID } from "node:crypto";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import type { Filter } from "../api/filter/compile.js";
import type {
  CallOptions,
  Item,
  ItemsOptions,
  Metadata,
  NamespaceOption,
  StoredItem,
  Vector,
} from "../api/vector-index.js";
import { generatorOf } from "../async/calls.js";
import { invalid, isArray, isVector, typeName } from "../checks/input.js";
import { convertJson, type JsonText } from "../checks/json-text.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import type { StoreIndex } from "./store-index.js";
import type { StoreLimits } from "./store-limits.js";

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
      metadata: convertJson(document?.metadata ?? {}, `documents[${i}].metadata`),
    };
  });
}

/**
 * Copies the vectors: a model may write the next ones into the same memory. Throws `invalid_request` for
 * vectors of a model that answers otherwise than LangChain's interface says.
 */
export function toItems(vectors: readonly Vector[], documents: readonly TakenDocument[]): Item[] {
  if (!isArray(vectors)) throw invalid(`vectors: expected an array, got ${typeName(vectors)}`);
  if (vectors.length !== documents.length) {
    throw invalid(
      `vectors: expected one for each of the ${documents.length} documents, got ${vectors.length}`,
    );
  }
  return documents.map(({ id, pageContent, metadata }, i) => ({
    id,
    vector: isVector(vectors[i]) ? vectors[i].slice() : vectors[i],
    contents: pageContent,
    metadata,
  }));
}

/** `metadatas`: one per text, or one for all. */
export function toDocuments(texts: readonly string[], metadatas: object[] | object): Document[] {
  if (!isArray(texts)) throw invalid(`texts: expected an array, got ${typeName(texts)}`);
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

/** Options of iterating over documents. */
export interface DocumentsOptions extends CallOptions, NamespaceOption {
  /** Only matching documents, within the store's own filter. */
  readonly filter?: Filter | undefined;
  /** Documents per page, 1 to 10,000. Default 1,000. */
  readonly pageSize?: number;
  /** Only documents with greater ids. */
  readonly after?: string | undefined;
}

/** Options of listing a page of documents. */
export interface ListDocumentsOptions extends CallOptions, NamespaceOption {
  readonly filter?: Filter | undefined;
  /** Documents per page, 1 to 10,000. Default 1,000. */
  readonly limit?: number;
  /** Cursor of the previous page. */
  readonly cursor?: string | undefined;
}

/** One page of the documents of a store. */
export interface DocumentPage {
  readonly documents: Document[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
}

const include = ["contents", "metadata"] as const;
const documentsOptions = optionNames<DocumentsOptions>("documents", {
  filter: true,
  pageSize: true,
  after: true,
  namespace: true,
  signal: true,
});
const listOptions = optionNames<ListDocumentsOptions>("listDocuments", {
  filter: true,
  limit: true,
  cursor: true,
  namespace: true,
  signal: true,
});

/** `limits` are those of the store. */
export function documentsOf(
  store: StoreIndex,
  options: DocumentsOptions,
  limits: StoreLimits,
): AsyncGenerator<Document, void, undefined> {
  return generatorOf(() => {
    const own = takeOptions(options, documentsOptions);
    return listedDocuments(store, { ...own, ...limits.of(own), include });
  });
}

async function* listedDocuments(
  store: StoreIndex,
  options: ItemsOptions<typeof include>,
): AsyncGenerator<Document, void, undefined> {
  const [items, first] = await store.use(async ({ index }) => {
    const listed = index.items(options);
    return [listed, await listed.next()] as const;
  });
  try {
    for (let next = first; next.done !== true; next = await items.next()) yield toDocument(next.value);
  } finally {
    await items.return();
  }
}

export async function pageOfDocuments(
  store: StoreIndex,
  options: ListDocumentsOptions,
  limits: StoreLimits,
): Promise<DocumentPage> {
  options = takeOptions(options, listOptions);
  const own = { ...options, ...limits.of(options), include };
  const { items, cursor } = await store.use(({ index }) => index.listItems(own));
  return { documents: items.map(toDocument), ...(cursor !== undefined && { cursor }) };
}
