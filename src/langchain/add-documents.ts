/** Adds documents in batches of bounded size, each of which is atomic. */

import { isDate } from "../checks/value-kinds.js";
import { untilAborted } from "../async/calls.js";
import type { DocumentInterface } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { optionNames, takeOptions } from "../checks/option-names.js";
import type { Filter } from "../api/filter/compile.js";
import { renamePlace, shiftPosition } from "../errors.js";
import type { Item, NamespaceOption, Vector } from "../api/vector-index.js";
import type { StoreIndex } from "./store-index.js";
import type { StoreLimits } from "./store-limits.js";
import { takeDocuments, type TakenDocument, toItems } from "./documents.js";

/** Progress of storing documents. */
export interface AddProgress {
  /** Documents stored so far, from the first: `documents.slice(stored)` remains. */
  readonly stored: number;
  readonly total: number;
}

/** Options of storing documents. */
export interface AddOptions extends NamespaceOption {
  /** One id per document. Default: the document's own id, or a random UUID. */
  readonly ids?: readonly string[];
  /** Called after each stored batch. */
  readonly onProgress?: (progress: AddProgress) => void;
  /**
   * Stops embedding and storing at once. The call rejects with the signal's reason, unless
   * everything was stored; stored batches stay, and the current one is stored completely or not at
   * all.
   */
  readonly signal?: AbortSignal;
  /**
   * Deletes documents that match and are not among the given ones, in the commit that stores these.
   * All documents are then one batch, which must fit into memory. Use it to replace the old chunks
   * of a changed source.
   */
  readonly deleteFilter?: Filter | undefined;
  /** Hides the documents from this time on, a Date or milliseconds since 1970. Default: never. */
  readonly expiresAt?: Date | number | undefined;
  /** Skips documents already stored with equal text, metadata and vector. Default false. */
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

/** A batch ends with the document that reaches one of these limits. */
const batchDocuments = 500;
const batchCharacters = 4_000_000;

/** Vectors of a batch whose first document has this position. */
type VectorsOf = (batch: readonly TakenDocument[], start: number) => Promise<readonly Vector[]>;

/** A copy of the arguments, independent of the caller's objects. */
export interface Addition extends AddOptions {
  readonly documents: readonly TakenDocument[];
  readonly limits: StoreLimits;
}

/**
 * Copies the arguments of a call. Throws `forbidden` for the first document that the store's filter
 * does not match.
 */
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
    deleteFilter: deleteFilter && takeDeleteFilter(deleteFilter, limits),
    expiresAt: isDate(expiresAt) ? new Date(expiresAt) : expiresAt,
    documents: taken,
    limits,
  };
}

function takeDeleteFilter(filter: Filter, limits: StoreLimits): Filter | undefined {
  try {
    return limits.of({ filter }).filter;
  } catch (error) {
    throw renamePlace(error, /^filter/, "deleteFilter");
  }
}

/** The names of items in errors as those of documents. */
function namedAsPassed(error: unknown, start: number): unknown {
  const placed = shiftPosition(error, (i) => `documents[${start + i}]`);
  const ofText = renamePlace(placed, /^(documents\[\d+\])\.contents/, "$1.pageContent");
  return renamePlace(ofText, /^documents\[\d+\]\.expiresAt/, "expiresAt");
}

/**
 * Stores the documents under vectors from `vectorsOf` and returns the ids in order. With explicit
 * ids, the call can be repeated after a failure: equal documents replace the stored ones.
 */
export async function addInBatches(
  store: StoreIndex,
  { documents, limits, ...options }: Addition,
  vectorsOf: VectorsOf,
): Promise<string[]> {
  await store.openForVectors();
  const { onProgress, signal, deleteFilter, skipUnchanged = false, expiresAt, namespace } = options;
  signal?.throwIfAborted();
  const { within } = limits;
  const add = async (items: readonly Item[], end: number) => {
    const conditions = { deleteFilter, within, skipUnchanged, namespace, signal };
    const adding = store.useForVectors(({ index }) => index.upsert(items, conditions));
    await adding.catch((error: unknown) => {
      throw namedAsPassed(error, end - items.length);
    });
    onProgress?.({ stored: end, total: documents.length });
  };
  const held: Item[] = [];
  let embedding = embedBatch(documents, 0, vectorsOf);
  for (let start = 0; start < documents.length;) {
    const { batch, end } = embedding;
    const vectors = await untilAborted(embedding.vectors, signal);
    const items = toItems(vectors, batch).map((item) => ({ ...item, expiresAt }));
    // One batch ahead: a model on a thread computes while this one is stored.
    embedding = embedBatch(documents, end, vectorsOf);
    start = end;
    if (deleteFilter !== undefined) {
      for (const item of items) held.push(item);
      continue;
    }
    await add(items, end);
    signal?.throwIfAborted();
  }
  if (deleteFilter !== undefined) await add(held, documents.length);
  return documents.map(({ id }) => id);
}

interface EmbeddedBatch {
  readonly batch: readonly TakenDocument[];
  /** Position after its last document. */
  readonly end: number;
  readonly vectors: Promise<readonly Vector[]>;
}

function embedBatch(documents: readonly TakenDocument[], start: number, vectorsOf: VectorsOf): EmbeddedBatch {
  const end = endOfBatch(documents, start);
  const batch = documents.slice(start, end);
  const vectors = batch.length === 0 ? Promise.resolve([]) : vectorsOf(batch, start);
  // Reported when this batch is due, unless storing the previous one fails first.
  vectors.catch(() => undefined);
  return { batch, end, vectors };
}

/** `vectorsOf` for an Embeddings object. */
export function embedWith(embeddings: EmbeddingsInterface): VectorsOf {
  return async (batch) => embeddings.embedDocuments(batch.map(({ pageContent }) => pageContent));
}

function endOfBatch(documents: readonly TakenDocument[], start: number): number {
  let characters = 0;
  let end = start;
  while (end < documents.length && end < start + batchDocuments && characters < batchCharacters) {
    characters += documents[end++].pageContent.length;
  }
  return end;
}
