/** Storage of an active attacker: every state that an index ever had, another index, and the present state to change. */

import { createClient, generateKey } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import type { EmbeddedClient, IndexConfigInput, Item, VectorIndex } from "../../src/api/vector-index.js";
import { type SealedBlock, sealedBlocks } from "./sealed-blocks.js";

export type Blobs = ReadonlyMap<string, Uint8Array>;

/** A store over a map, which it changes. */
export function storeOf(blobs: Map<string, Uint8Array>): BlobStore {
  return {
    async read(key, range) {
      const bytes = blobs.get(key);
      if (bytes === undefined) return null;
      return range === undefined ? bytes : bytes.subarray(range.offset, range.offset + range.length);
    },
    async create(key, bytes) {
      if (blobs.has(key)) return false;
      blobs.set(key, Uint8Array.from(bytes));
      return true;
    },
    async list(prefix, { after = "", limit = Infinity } = {}) {
      const keys = [...blobs.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
      return keys.slice(0, limit);
    },
    async delete(keys) {
      for (const key of keys) blobs.delete(key);
    },
    async close() {},
  };
}

export interface World {
  readonly indexName: string;
  readonly indexKey: string;
  /** The blobs after each change, the present state last. */
  readonly states: readonly Blobs[];
  /** The answers of a reader for each. */
  readonly answers: readonly string[];
  /** The blobs of the anchor location, which the attacker does not control. */
  readonly anchors: Blobs;
  /** Another index of the same name, under another key. */
  readonly foreign: Blobs;
  /** The blocks of every segment of all of these, by key. */
  readonly blocks: ReadonlyMap<string, readonly SealedBlock[]>;
}

export interface Place {
  readonly blobs: Map<string, Uint8Array>;
  /** Undefined: the client has no anchors. */
  readonly anchors?: Map<string, Uint8Array>;
}

export function open({ blobs, anchors }: Place): EmbeddedClient {
  return createClient({
    indexLocation: storeOf(blobs),
    ...(anchors && { anchorLocation: storeOf(anchors) }),
    automaticTraining: false,
  });
}

/** All that a reader can learn of an index, as text. */
export async function answerOf(index: VectorIndex): Promise<string> {
  const include = ["distance", "metadata", "contents"] as const;
  const queryVector = [3, 1, 4, 1, 5, 9, 2, 6];
  const matches = await index.query({ queryVector, topK: 100, nProbes: 4, include });
  const filtered = await index.query({ queryVector, topK: 100, nProbes: 4, filter: { i: { $gte: 20 } } });
  const words = await index.query({ queryText: "text 7 12 +text", topK: 100, include: [] });
  return JSON.stringify([matches, filtered, await index.listIds(), words]);
}

export const added = { id: "added", vector: [1, 1, 1, 1, 1, 1, 1, 1], contents: "added" };

const smallItems: readonly Item[] = Array.from({ length: 48 }, (_, i) => ({
  id: `i${i}`,
  vector: Array.from({ length: 8 }, (__, j) => Math.sin(i * (j + 2))),
  contents: `text ${i}`,
  metadata: { i },
}));

type Step = (index: VectorIndex) => Promise<unknown>;

const changesOf = (items: readonly Item[]): readonly Step[] => [
  (index) => index.upsert(items.slice(0, -8)),
  (index) => index.train({ nLists: 3 }),
  (index) => index.upsert(items.slice(-8)),
  (index) => index.delete({ ids: ["i5"] }),
  (index) => index.wraps.add({ name: "reader", key: generateKey(), access: "read-only" }),
  (index) => index.upsert([{ ...items[3], contents: "changed" }]),
  (index) => index.wraps.revoke("reader"),
  (index) => index.delete({ ids: ["i6"] }),
];

/** `items`: 48 or more, `i0`, `i1` and so on. Default: 48 small ones. */
export async function newWorld(indexConfig: IndexConfigInput, items = smallItems): Promise<World> {
  const changes = changesOf(items);
  const place = { blobs: new Map<string, Uint8Array>(), anchors: new Map<string, Uint8Array>() };
  const indexName = "attacked";
  const indexKey = generateKey();
  const client = open(place);
  const index = await client.createIndex({ indexName, indexKey, indexConfig, textIndex: true });
  const states: Blobs[] = [];
  const answers: string[] = [];
  for (const change of [async () => undefined, ...changes]) {
    await change(index);
    states.push(new Map(place.blobs));
    answers.push(await answerOf(index));
  }
  await client.close();
  const other = { blobs: new Map<string, Uint8Array>() };
  const foreigner = open(other);
  const foreignKey = generateKey();
  const foreign = await foreigner.createIndex({ indexName, indexKey: foreignKey, indexConfig });
  for (const change of changes) await change(foreign);
  await foreigner.close();
  const found = await Promise.all([
    ...states.map((state) => sealedBlocks(state, indexName, indexKey)),
    sealedBlocks(other.blobs, indexName, foreignKey),
  ]);
  return {
    indexName,
    indexKey,
    states,
    answers,
    anchors: new Map(place.anchors),
    foreign: other.blobs,
    blocks: new Map(found.flatMap((each) => [...each])),
  };
}
