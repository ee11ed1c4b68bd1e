/** Adding any number of documents in batches of bounded size, each of which is stored whole or not at all. */

import { isDate } from "../value-kinds.js";
import { untilAborted } from "../calls.js";
import type { DocumentInterface } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { optionNames, takeOptions } from "../option-names.js";
import type { Filter } from "../filter.js";
import { shiftPosition } from "../errors.js";
import type { Item, NamespaceOption, Vector, VectorIndex } from "../vector-index.js";
import type { StoreLimits } from "./store-limits.js";
import { takeDocuments, type TakenDocument, toItems } from "./documents.js";

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

/** Vectors of a batch of documents, whose first one is at this position. */
type VectorsOf = (batch: readonly TakenDocument[], start: number) => Promise<readonly Vector[]>;

/** What is to be added, without a reference to anything that the caller can change. */
export interface Addition extends AddOptions {
  readonly documents: readonly TakenDocument[];
  readonly limits: StoreLimits;
}

/** Takes over the arguments of a call. Throws `forbidden` for a document that the store's filter does not match, naming the first. */
export function takeAddition(
  documents: readonly DocumentInterface[],
  given: AddOptions = {},
  limits: StoreLimits,
): Addition {
  const options = takeOptions(given, addOptions);
  const { ids, deleteFilter, expiresAt } = options;
  const taken = takeDocuments(documents, ids);
  for (const [i, { metadata }] of taken.entries()) limits.checkAdded(metadata, `documents[${i}]`);
  return {
    ...options,
    namespace: limits.namespaceOf(options),
    deleteFilter: (deleteFilter ?? undefined) && limits.of({ filter: deleteFilter }).filter,
    expiresAt: isDate(expiresAt) ? new Date(expiresAt) : expiresAt,
    documents: taken,
    limits,
  };
}

/**
 * Stores the documents under vectors from `vectorsOf`. Returns the ids, in order. With explicit ids, the call can be repeated after a
 * failure: stored documents are replaced by equal ones.
 */
export async function addInBatches(
  index: VectorIndex,
  { documents, limits, ...options }: Addition,
  vectorsOf: VectorsOf,
): Promise<string[]> {
  const { onProgress, signal, deleteFilter, skipUnchanged = false, expiresAt, namespace } = options;
  signal?.throwIfAborted();
  const { within } = limits;
  const store = async (items: readonly Item[], end: number) => {
    const conditions = { deleteFilter, within, skipUnchanged, namespace, signal };
    await index.upsert(items, conditions).catch((error: unknown) => {
      throw shiftPosition(error, (i) => `documents[${end - items.length + i}]`);
    });
    onProgress?.({ stored: end, total: documents.length });
  };
  const held: Item[] = [];
  let embedding = embedBatch(documents, 0, vectorsOf);
  for (let start = 0; start < documents.length;) {
    const { batch, end } = embedding;
    const vectors = await untilAborted(embedding.vectors, signal);
    // One batch ahead: a model on a thread computes while this one is stored.
    embedding = embedBatch(documents, end, vectorsOf);
    const items = toItems(vectors, batch).map((item) => ({ ...item, expiresAt }));
    start = end;
    if (deleteFilter !== undefined) {
      for (const item of items) held.push(item);
      continue;
    }
    await store(items, end);
    signal?.throwIfAborted();
  }
  if (deleteFilter !== undefined) await store(held, documents.length);
  return documents.map(({ id }) => id);
}

interface EmbeddedBatch {
  readonly batch: readonly TakenDocument[];
  /** The position after its last document. */
  readonly end: number;
  readonly vectors: Promise<readonly Vector[]>;
}

function embedBatch(documents: readonly TakenDocument[], start: number, vectorsOf: VectorsOf): EmbeddedBatch {
  const end = endOfBatch(documents, start);
  const batch = documents.slice(start, end);
  const vectors = batch.length === 0 ? Promise.resolve([]) : vectorsOf(batch, start);
  // A failure is reported when it is this batch's turn, unless storing the one before it fails first.
  vectors.catch(() => undefined);
  return { batch, end, vectors };
}

/** `vectorsOf` by an Embeddings object. */
export function embedWith(embeddings: EmbeddingsInterface): VectorsOf {
  return (batch) => embeddings.embedDocuments(batch.map(({ pageContent }) => pageContent));
}

function endOfBatch(documents: readonly TakenDocument[], start: number): number {
  let characters = 0;
  let end = start;
  while (end < documents.length && end < start + batchDocuments && characters < batchCharacters) {
    characters += documents[end++].pageContent.length;
  }
  return end;
}
