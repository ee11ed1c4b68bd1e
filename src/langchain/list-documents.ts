/** Listing the documents of a store. */

import type { Document } from "@langchain/core/documents";
import type { Filter } from "../filter.js";
import { generatorOf } from "../generator-of.js";
import { optionNames, takeOptions } from "../option-names.js";
import type { CallOptions, ItemsOptions, NamespaceOption, VectorIndex } from "../vector-index.js";
import { toDocument } from "./documents.js";
import type { StoreLimits } from "./store-limits.js";

export interface DocumentsOptions extends CallOptions, NamespaceOption {
  /** Only documents whose metadata match. The store's own filter limits them, too. */
  readonly filter?: Filter | undefined;
  /** Documents that are read at a time, 1 to 10,000. Default 1,000. */
  readonly pageSize?: number;
  /** Only documents whose ids are greater than this one. */
  readonly after?: string | undefined;
}

export interface ListDocumentsOptions extends CallOptions, NamespaceOption {
  readonly filter?: Filter | undefined;
  /** Documents of one page, 1 to 10,000. Default 1,000. */
  readonly limit?: number;
  /** Of the page before. */
  readonly cursor?: string | undefined;
}

export interface DocumentPage {
  readonly documents: Document[];
  /** For the next page. Absent if this is the last one. */
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

/** `limits`: of the store. */
export function documentsOf(
  open: () => Promise<VectorIndex>,
  options: DocumentsOptions,
  limits: StoreLimits,
): AsyncGenerator<Document, void, undefined> {
  return generatorOf(() => {
    const own = takeOptions(options, documentsOptions);
    return toDocuments(open, { ...own, ...limits.of(own), include });
  });
}

async function* toDocuments(
  open: () => Promise<VectorIndex>,
  options: ItemsOptions<typeof include>,
): AsyncGenerator<Document, void, undefined> {
  const index = await open();
  for await (const item of index.items(options)) yield toDocument(item);
}

export async function pageOfDocuments(
  open: () => Promise<VectorIndex>,
  options: ListDocumentsOptions,
  limits: StoreLimits,
): Promise<DocumentPage> {
  options = takeOptions(options, listOptions);
  const own = { ...options, ...limits.of(options), include };
  const index = await open();
  const { items, cursor } = await index.listItems(own);
  return { documents: items.map(toDocument), ...(cursor !== undefined && { cursor }) };
}
