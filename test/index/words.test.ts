/** Queries by words: BM25 over whatever is live, however it came to be stored. */

import { describe, expect, test } from "vitest";
import { createClient, type EmbeddedClient, generateKey, type VectorIndex } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { bruteForceBm25 } from "./brute-force-bm25.js";

const dimension = 4;
/** Words that analysis leaves as they are, the first ones frequent. */
const vocabulary = Array.from({ length: 400 }, (_, i) => `w${i}x`);
const histories = Number(process.env.SEALDEX_WORD_HISTORIES ?? 3);

function open(store: BlobStore): EmbeddedClient {
  return createClient({ indexLocation: store, automaticTraining: false });
}

async function newIndex(textIndex = true) {
  const store = createMemoryStore();
  const client = open(store);
  const options = { indexName: "words", indexKey: generateKey() };
  return { store, options, index: await client.createIndex({ ...options, textIndex }) };
}

async function expectLikeBruteForce(
  index: VectorIndex,
  texts: ReadonlyMap<string, readonly string[]>,
  query: readonly string[],
  topK: number,
): Promise<void> {
  const expected = bruteForceBm25(texts, query);
  const scoreOf = new Map(expected.map(({ id, score }) => [id, score]));
  const found = await index.query({ queryText: query.join(" "), topK });
  expect(found.length).toBe(Math.min(topK, expected.length));
  found.forEach(({ id, score }, i) => {
    expect(score).toBeCloseTo(expected[i].score, 8);
    expect(score).toBeCloseTo(scoreOf.get(id) ?? -1, 8);
  });
}

describe("a query by words", () => {
  test.each(Array.from({ length: histories }, (_, seed) => [seed + 1]))(
    "ranks as BM25 by definition after a random history (seed %i)",
    async (seed) => {
      const random = seededRandom(seed);
      const pick = (n: number) => Math.floor(random() * n);
      const word = () => vocabulary[Math.floor(vocabulary.length * random() ** 3)];
      const created = await newIndex();
      let { index } = created;
      const texts = new Map<string, readonly string[]>();
      const vector = () => Array.from({ length: dimension }, () => random() - 0.5);
      for (let step = 0; step < 40; step++) {
        const choice = pick(10);
        if (choice < 5) {
          const items = Array.from({ length: 1 + pick(choice === 0 ? 600 : 30) }, () => {
            const id = `item ${pick(900)}`;
            const words = Array.from({ length: pick(4) === 0 ? 0 : pick(30) }, word);
            return { id, words };
          });
          for (const { id, words } of items) texts.set(id, words);
          await index.upsert(
            items.map(({ id, words }) => ({ id, vector: vector(), contents: words.join(" ") })),
          );
        } else if (choice === 5) {
          const ids = Array.from({ length: pick(60) }, () => `item ${pick(900)}`);
          for (const id of ids) texts.delete(id);
          await index.delete({ ids });
        } else if (choice === 6) {
          await index.update({ ids: [`item ${pick(900)}`] }, { metadata: { step } });
        } else if (choice === 7) {
          index = await open(created.store).loadIndex(created.options);
        } else if (choice === 8) {
          await index.compact();
        } else if (texts.size > 8) {
          await index.train({ nLists: 1 + pick(6) });
        }
        const query = [...new Set(Array.from({ length: 1 + pick(5) }, word))];
        await expectLikeBruteForce(index, texts, query, [1, 10, 1000][pick(3)]);
      }
    },
    120_000,
  );
});
