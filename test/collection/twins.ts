/** One index and one collection with the same rows. */

import type { Client, IndexConfigInput, Item, VectorIndex } from "../../src/api/vector-index.js";
import { Calls } from "../../src/async/calls.js";
import { generateKey } from "../../src/crypto/keys.js";
import { seededRandom } from "../../src/engine/random.js";
import type { EmbeddedClient } from "../../src/index/embedded-client.js";
import { EncryptedIndex } from "../../src/index/encrypted-index.js";
import { openRequest } from "../../src/index/open/find-index.js";

export interface Twins {
  readonly index: VectorIndex;
  readonly collection: VectorIndex;
  /** Of the collection. */
  readonly named: { readonly indexName: string; readonly indexKey: string };
}

export const dimension = 16;

/**
 * Both empty, with words, and with fingerprints of one key: then equal scores are in the same order. `creator` creates the
 * collection, at the locations of `client`.
 */
export async function createTwins(
  client: EmbeddedClient,
  shards: number,
  indexConfig: IndexConfigInput = { type: "ivfflat", dimension },
  creator: Client = client,
): Promise<Twins> {
  const indexKey = generateKey();
  const named = { indexName: `twin ${shards} ${indexConfig.type}`, indexKey };
  const options = { indexKey, textIndex: true, indexConfig } as const;
  const collectionName = `collection of ${shards} ${indexConfig.type}`;
  const collection = await creator.createCollection({ ...options, indexName: collectionName, shards });
  const head = await client.open(openRequest({ indexName: collectionName, indexKey }), true);
  await client.createIndex({ ...options, ...named });
  const index = await client.open(openRequest(named), false);
  index.keys.nameAs(head.keys);
  return {
    index: new EncryptedIndex(index, new Calls()),
    collection,
    named: { indexName: collectionName, indexKey },
  };
}

/** The same call to both, of which the results are equal. */
export async function onBoth<T>({ index, collection }: Twins, call: (index: VectorIndex) => Promise<T>) {
  return { expected: await call(index), actual: await call(collection) };
}

const words = [
  "river",
  "stone",
  "harbor",
  "lantern",
  "violet",
  "engine",
  "copper",
  "meadow",
  "signal",
  "winter",
];

/** Items with vectors, texts and metadata; some are in a namespace of their own call. */
export function randomItems(count: number, seed: number, prefix = "item"): Item[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, i) => ({
    id: `${prefix}-${i}`,
    vector: randomVector(random),
    contents: Array.from(
      { length: 3 + Math.floor(9 * random()) },
      () => words[Math.floor(random() ** 2 * words.length)],
    ).join(" "),
    metadata: {
      year: 2000 + Math.floor(20 * random()),
      even: i % 2 === 0,
      order: Math.floor(1e6 * random()),
    },
  }));
}

export function randomVector(random: () => number): number[] {
  return Array.from({ length: dimension }, () => 2 * random() - 1);
}
