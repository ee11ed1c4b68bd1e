/** The texts that an agent searches and adds to: a Sealdex index, or its LangChain.js vector store. */

import { embed, type EmbeddingModel } from "ai";
import type { Filter, Metadata, VectorIndex } from "sealdex/core";

/** A text of a LangChain.js store. */
interface StoredDocument {
  readonly id?: string | undefined;
  readonly pageContent: string;
  readonly metadata: object;
}

/** `EncryptedVectorStore`, as far as it is needed: its own type needs the types of LangChain. */
export interface KnowledgeStore {
  similaritySearchWithDistance(
    question: string,
    k?: number,
    filter?: Filter,
    options?: { readonly namespace?: string | undefined },
  ): Promise<[StoredDocument, number][]>;
  addDocuments(
    documents: { readonly pageContent: string; readonly metadata: Metadata }[],
    options: {
      readonly ids: string[];
      readonly namespace?: string | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<string[]>;
}

/**
 * An index with an embedding model (its own, or one of the AI SDK), or an `EncryptedVectorStore`.
 * The caller closes it.
 */
export type Knowledge = VectorIndex | KnowledgeStore;

/** Where texts are, for searches and for additions. */
export interface PlaceOptions {
  /**
   * Embeds texts and questions, for an index that has no embedding model of its own. A store has
   * its embeddings: `TypeError`.
   */
  readonly embeddingModel?: EmbeddingModel | undefined;
  /** The only namespace to search or to add to, such as a person. The language model cannot choose it. */
  readonly namespace?: string | undefined;
}

export interface SearchOptions extends PlaceOptions {
  /** Passages to find. Default 4. */
  readonly topK?: number | undefined;
  /** Passages that are further away are left out. Under `cosine`, 0 is the same meaning. Default: none are. */
  readonly maxDistance?: number | undefined;
  /** Searches only texts whose metadata match. The language model cannot choose it. */
  readonly filter?: Filter | undefined;
}

export interface Passage {
  readonly id: string;
  readonly text: string;
  /** Distance to the question under the index's metric; smaller is nearer. */
  readonly distance: number;
  readonly metadata: Metadata;
}

interface Addition {
  readonly id: string;
  readonly text: string;
  readonly metadata: Metadata;
}

export const placeNames = ["embeddingModel", "namespace"] as const satisfies (keyof PlaceOptions)[];
export const searchNames = [
  ...placeNames,
  "topK",
  "maxDistance",
  "filter",
] as const satisfies (keyof SearchOptions)[];

/**
 * Throws `TypeError` unless the options fit. Called when a tool is made, before a model can call it.
 * A misspelled namespace would search everyone's texts.
 */
export function checkOptions(knowledge: Knowledge, options: SearchOptions, names: readonly string[]): void {
  const given = knowledge as Partial<VectorIndex & KnowledgeStore> | undefined;
  if (typeof given?.query !== "function" && typeof given?.similaritySearchWithDistance !== "function")
    throw new TypeError(
      "expected an index, as in await client.loadIndex(…), or an EncryptedVectorStore, got neither",
    );
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`unknown option ${JSON.stringify(unknown)}: expected ${names.join(", ")}`);
  if (!isIndex(knowledge) && options.embeddingModel !== undefined)
    throw new TypeError("embeddingModel: expected none, since a store has its own embeddings");
  // No distance is within NaN: nothing would ever be found.
  const { maxDistance = 0 } = options;
  if (typeof maxDistance !== "number" || Number.isNaN(maxDistance))
    throw new TypeError("maxDistance: expected a number");
}

/** The nearest passages, nearest first. */
export async function findPassages(
  knowledge: Knowledge,
  question: string,
  options: SearchOptions,
  signal?: AbortSignal,
): Promise<Passage[]> {
  const { topK = 4, maxDistance = Infinity } = options;
  // A store takes no signal.
  signal?.throwIfAborted();
  const found = isIndex(knowledge)
    ? await searchIndex(knowledge, question, { ...options, topK }, signal)
    : await searchStore(knowledge, question, { ...options, topK });
  return found.filter(({ text, distance }) => text !== "" && distance <= maxDistance);
}

/** Stores a text, and replaces the one that has its id. */
export async function addText(
  knowledge: Knowledge,
  { id, text, metadata }: Addition,
  { embeddingModel, namespace }: PlaceOptions,
  signal?: AbortSignal,
): Promise<void> {
  if (isIndex(knowledge)) {
    const vector = embeddingModel && (await embedText(embeddingModel, text, signal));
    await knowledge.upsert([{ id, contents: text, metadata, ...(vector && { vector }) }], {
      namespace,
      signal,
    });
  } else {
    const document = { pageContent: text, metadata };
    await knowledge.addDocuments([document], { ids: [id], namespace, signal });
  }
}

function isIndex(knowledge: Knowledge): knowledge is VectorIndex {
  return "query" in knowledge;
}

async function searchIndex(
  index: VectorIndex,
  question: string,
  { embeddingModel, namespace, topK, filter }: SearchOptions & { readonly topK: number },
  signal: AbortSignal | undefined,
): Promise<Passage[]> {
  const query = embeddingModel
    ? { queryVector: await embedText(embeddingModel, question, signal) }
    : { queryContents: question };
  const include = ["distance", "contents", "metadata"] as const;
  // As many lists as the usual recall takes: the default is one.
  const matches = await index.query({ ...query, topK, nProbes: 0, filter, namespace, include, signal });
  return matches.map(({ id, contents = "", distance, metadata }) => ({
    id,
    text: contents,
    distance,
    metadata,
  }));
}

async function searchStore(
  store: KnowledgeStore,
  question: string,
  { namespace, topK, filter }: SearchOptions & { readonly topK: number },
): Promise<Passage[]> {
  const found = await store.similaritySearchWithDistance(question, topK, filter, { namespace });
  return found.map(([{ id = "", pageContent, metadata }, distance]) => ({
    id,
    text: pageContent,
    distance,
    metadata: metadata as Metadata,
  }));
}

async function embedText(model: EmbeddingModel, value: string, signal?: AbortSignal): Promise<number[]> {
  const { embedding } = await embed({ model, value, abortSignal: signal });
  return embedding;
}
