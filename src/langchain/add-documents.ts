/** Adding any number of documents in batches of bounded size, each of which is stored whole or not at all. */

import { untilAborted } from "../calls.js";
import type { DocumentInterface } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { checkOptions, optionNames } from "../option-names.js";
import type { Filter } from "../filter.js";
import type { Item, NamespaceOption, VectorIndex } from "../vector-index.js";
import type { StoreLimits } from "./store-limits.js";
import { checkDocuments, chooseIds, toItems } from "./documents.js";

export interface AddProgress {
  /** Documents stored so far, counted from the first: `documents.slice(stored)` is what is left. */
  readonly stored: number;
  readonly total: number;
}

export interface AddOptions extends NamespaceOption {
  /** One id per document. Default: the document's own id, else a random UUID. */
  readonly ids?: readonly string[];
  /** Called after each batch that was stored. */
  readonly onProgress?: (progress: AddProgress) => void;
  /**
   * Stops embedding and storing at once. The call rejects with the signal's reason, unless all was stored by then; what was
   * stored stays, and of the batch in progress all or nothing.
   */
  readonly signal?: AbortSignal;
  /**
   * Documents whose metadata match and that are not among the given ones are deleted in the commit that stores these: all of them
   * at once, which must fit into memory. So a changed source replaces its old chunks.
   */
  readonly deleteFilter?: Filter | undefined;
  /** From this moment on, a Date or milliseconds since 1970, the documents are hidden. Default: never. */
  readonly expiresAt?: Date | number | undefined;
  /** Documents that are stored already with equal text, metadata and vector are not stored again. Default false. */
  readonly skipUnchanged?: boolean;
}

const addOptions = optionNames<AddOptions>("addDocuments", {
  ids: true,
  onProgress: true,
  signal: true,
  deleteFilter: true,
  skipUnchanged: true,
  expiresAt: true,
  namespace: true,
});

/** A batch ends with the document that reaches one of these. */
const batchDocuments = 500;
const batchCharacters = 4_000_000;

/**
 * Stores the documents under vectors from `vectorsOf`, which gets a batch and its position. Returns the ids, in order.
 * With explicit ids, the call can be repeated after a failure: stored documents are replaced by equal ones.
 */
export async function addInBatches(
  index: VectorIndex,
  documents: readonly DocumentInterface[],
  vectorsOf: (batch: readonly DocumentInterface[], start: number) => Promise<number[][]>,
  options: AddOptions = {},
  limits: StoreLimits,
): Promise<string[]> {
  checkOptions(options, addOptions);
  const { ids: ownIds, onProgress, signal, deleteFilter, skipUnchanged = false, expiresAt } = options;
  const namespace = limits.namespaceOf(options);
  const replaces = (deleteFilter ?? undefined) !== undefined;
  checkDocuments(documents);
  const ids = chooseIds(documents, ownIds);
  signal?.throwIfAborted();
  const held: Item[] = [];
  let embedding = embedBatch(documents, 0, vectorsOf);
  for (let start = 0; start < documents.length;) {
    const { batch, end } = embedding;
    const vectors = await untilAborted(embedding.vectors, signal);
    // One batch ahead: a model on a thread computes while this one is stored.
    embedding = embedBatch(documents, end, vectorsOf);
    const items = toItems(vectors, batch, ids.slice(start, end)).map((item) => ({ ...item, expiresAt }));
    start = end;
    if (replaces) {
      for (const item of items) held.push(item);
      continue;
    }
    await index.upsert(items, { skipUnchanged, namespace, signal });
    onProgress?.({ stored: end, total: documents.length });
    signal?.throwIfAborted();
  }
  if (replaces) {
    await index.upsert(held, { deleteFilter, skipUnchanged, namespace, signal });
    onProgress?.({ stored: documents.length, total: documents.length });
  }
  return ids;
}

interface EmbeddedBatch {
  readonly batch: readonly DocumentInterface[];
  /** The position after its last document. */
  readonly end: number;
  readonly vectors: Promise<number[][]>;
}

function embedBatch(
  documents: readonly DocumentInterface[],
  start: number,
  vectorsOf: (batch: readonly DocumentInterface[], start: number) => Promise<number[][]>,
): EmbeddedBatch {
  const end = endOfBatch(documents, start);
  const batch = documents.slice(start, end);
  const vectors = batch.length === 0 ? Promise.resolve([]) : vectorsOf(batch, start);
  // A failure is reported when it is this batch's turn, unless storing the one before it fails first.
  vectors.catch(() => undefined);
  return { batch, end, vectors };
}

/** `vectorsOf` by an Embeddings object. */
export function embedWith(embeddings: EmbeddingsInterface) {
  return (batch: readonly DocumentInterface[]): Promise<number[][]> =>
    embeddings.embedDocuments(batch.map(({ pageContent }) => pageContent));
}

function endOfBatch(documents: readonly DocumentInterface[], start: number): number {
  let characters = 0;
  let end = start;
  while (end < documents.length && end < start + batchDocuments && characters < batchCharacters) {
    characters += documents[end++].pageContent.length;
  }
  return end;
}
