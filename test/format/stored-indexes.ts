/** Small indexes of all kinds, as stored, to be damaged. */

import { createClient, generateKey } from "../../src/core.js";
import type { IndexConfigInput } from "../../src/api/client.js";
import { createChoice } from "../random/choice.js";
import { storeOf } from "../security/world.js";
import { StoredParts } from "./stored-parts.js";

export interface StoredIndex {
  readonly parts: StoredParts;
  readonly indexName: string;
  readonly indexKey: string;
  readonly dimension: number;
  readonly hasWords: boolean;
}

export interface StoredIndexOptions {
  readonly indexConfig: IndexConfigInput;
  readonly metric: "euclidean" | "cosine" | "squared_euclidean";
  readonly hasWords: boolean;
  readonly isTrained: boolean;
}

const dimension = 8;
const types: readonly IndexConfigInput[] = [
  { type: "ivfflat" },
  { type: "ivfflat", precision: "float16" },
  { type: "ivfflat", precision: "int8" },
  { type: "ivf" },
  { type: "ivfpq", pqDim: 4, pqBits: 4 },
  { type: "ivfpq", pqDim: 2, pqBits: 8 },
];

/** Each type with each metric, trained and not, with words and without. */
export const indexKinds: readonly StoredIndexOptions[] = types.flatMap((indexConfig, i) =>
  [true, false].flatMap((isTrained) =>
    [true, false].map((hasWords, j) => ({
      indexConfig,
      metric: (["euclidean", "cosine", "squared_euclidean"] as const)[(i + j) % 3],
      hasWords,
      isTrained,
    })),
  ),
);

/** Several segments, of a namespace, too; items that expire, were replaced and deleted; two wraps. */
export async function storedIndex(options: StoredIndexOptions, seed = 1): Promise<StoredIndex> {
  const { indexConfig, metric, hasWords, isTrained } = options;
  const { real } = createChoice(seed);
  const blobs = new Map<string, Uint8Array>();
  const client = createClient({ indexLocation: storeOf(blobs), automaticTraining: false });
  const [indexName, indexKey] = ["damaged", generateKey()];
  const index = await client.createIndex({
    indexName,
    indexKey,
    indexConfig,
    metric,
    ...(hasWords && { textIndex: {} }),
  });
  const items = (count: number, first: number) =>
    Array.from({ length: count }, (_, i) => ({
      id: `i${first + i}`,
      vector: Float32Array.from({ length: dimension }, () => 2 * real() - 1),
      contents: i % 5 === 0 ? undefined : `alpha beta word${i % 7} alpha`,
      metadata: { i, t: `x${i % 5}`, n: { a: [1, i % 3] } },
      ...(i % 6 === 0 && { expiresAt: new Date(Date.UTC(2200, 0, i + 1)) }),
    }));
  await index.upsert(items(60, 0));
  await index.upsert(items(10, 500), { namespace: "tenant" });
  if (isTrained) await index.train({ nLists: 4 });
  await index.upsert(items(30, 50));
  await index.delete({ ids: ["i1", "i5"] });
  await index.wraps.add({ name: "reader", key: generateKey(), access: "read-only" });
  await client.close();
  const parts = await StoredParts.open(blobs, { indexName, indexKey });
  return { parts, indexName, indexKey, dimension, hasWords };
}
