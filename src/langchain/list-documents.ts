import type { Document } from "@langchain/core/documents";
import type { Filter } from "../filter.js";
import { generatorOf } from "../generator-of.js";
import { optionNames, takeOptions } from "../option-names.js";
import type { CallOptions, ItemsOptions, NamespaceOption, VectorIndex } from "../vector-index.js";
import { toDocument } from "./documents.js";
import type { StoreLimits } from "./store-limits.js";

export interface DocumentsOptions extends CallOptions, NamespaceOption {
  /** Only matching documents, within the store's own filter. */
  readonly filter?: Filter | undefined;
  /** Documents per page, 1 to 10,000. Default 1,000. */
  readonly pageSize?: number;
  /** Only documents with greater ids. */
  readonly after?: string | undefined;
}

export interface ListDocumentsOptions extends CallOptions, NamespaceOption {
  readonly filter?: Filter | undefined;
  /** Documents per page, 1 to 10,000. Default 1,000. */
  readonly limit?: number;
  /** Cursor of the previous page. */
  readonly cursor?: string | undefined;
}

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
  open: () => Promise<VectorIndex>,
  options: DocumentsOptions,
  limits: StoreLimits,
): AsyncGenerator<Document, void, undefined> {
  return generatorOf(() => {
    const own = takeOptions(options, documentsOptions);
    return listedDocuments(open, { ...own, ...limits.of(own), include });
  });
}

async function* listedDocuments(
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
