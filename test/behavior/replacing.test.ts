/**
 * Writers in several clients replace, update and delete documents of several chunks while others read: every read sees one
 * version of a document, whole, by vectors, words, filters and orders alike, and no old version comes back. `SEALDEX_SCHEDULES`:
 * how many schedules; `SEALDEX_SEED`: the first one's seed.
 */

import { expect, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { repeats } from "../tier.js";

const schedules = repeats("SEALDEX_SCHEDULES", { fast: 5, all: 25 });
const firstSeed = Number(process.env.SEALDEX_SEED ?? 1);
/** The last one is deleted, too, and may be missing as a whole. */
const docs = ["x", "y", "z"];
const deletable = "z";

interface Chunk {
  readonly doc: string;
  readonly version: number;
  readonly chunks: number;
  readonly touched?: number;
}

test("no read sees both, or neither, of two versions of a document", async () => {
  for (let i = 0; i < schedules; i++) await runSchedule(firstSeed + i);
});

async function runSchedule(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const pick = (n: number) => Math.floor(random() * n);
  const store = createMemoryStore();
  const clients = [1, 2, 3].map(() => createClient({ indexLocation: store, automaticTraining: false }));
  const address = { indexName: "documents", indexKey: generateKey() };
  await clients[0].createIndex({ ...address, textIndex: true });
  const indexes = await Promise.all(clients.map((client) => client.loadIndex(address)));
  let versions = 0;

  const replace = async (index: VectorIndex, doc: string) => {
    const version = ++versions;
    const chunks = 1 + pick(5);
    const items = Array.from({ length: chunks }, (_, i) => ({
      // Some ids are those of older versions, some are new.
      id: `${doc}#${pick(2) === 0 ? i : `${version}.${i}`}`,
      vector: [version, i],
      contents: contentsOf(doc, version),
      metadata: { doc, version, chunks },
    }));
    await index.upsert(items, { deleteFilter: { doc }, skipUnchanged: pick(2) === 0 });
  };
  const read = async (index: VectorIndex, doc: string) => {
    const filter = { doc };
    const include = ["metadata", "contents", "vector"] as const;
    const queryText = `doc${doc}`;
    const ways = [
      () => index.query({ queryVector: [1, 1], filter, include }),
      () => index.query({ queryText, include }),
      () => index.query({ queryText: `+${queryText}`, queryVector: [1, 1], include }),
      async () => (await index.listItems({ orderBy: { version: "asc" }, filter, include })).items,
      async () => (await index.listItems({ filter })).items,
    ];
    const found = await ways[pick(ways.length)]();
    check(found, seed);
    return found.length;
  };

  for (const doc of docs) await replace(indexes[0], doc);
  const run = async (index: VectorIndex) => {
    for (let step = 0; step < 4; step++) {
      const doc = docs[pick(docs.length)];
      const action = pick(9);
      if (action < 3) await replace(index, doc);
      else if (action < 5) await index.update({ filter: { doc } }, { metadata: { touched: ++versions } });
      else if (action === 5) await index.compact();
      else if (action === 6) await index.delete({ filter: { doc: deletable } });
      else {
        const found = await read(index, doc);
        if (doc !== deletable) expect(found, `seed ${seed}`).toBeGreaterThan(0);
      }
    }
  };
  await Promise.all([...indexes, ...indexes].map(run));
  for (const doc of docs) {
    for (const index of indexes) await read(index, doc);
    await indexes[1].delete({ filter: { doc } });
    expect(await indexes[2].update({ filter: { doc } }, { metadata: { touched: 0 } })).toMatchObject({
      matched: 0,
    });
    expect(await indexes[0].count({ filter: { doc } })).toBe(0);
  }
  await Promise.all(clients.map((client) => client.close()));
}

function check(
  found: readonly {
    readonly metadata?: unknown;
    readonly contents?: string;
    readonly vector?: Float32Array;
  }[],
  seed: number,
) {
  const chunks = found.map(({ metadata }) => metadata as Chunk);
  expect(new Set(chunks.map(({ version }) => version)).size, `seed ${seed}`).toBeLessThanOrEqual(1);
  // An update changes all chunks at once, too.
  expect(new Set(chunks.map(({ touched }) => touched)).size, `seed ${seed}`).toBeLessThanOrEqual(1);
  expect(chunks.length, `seed ${seed}`).toBe(chunks[0]?.chunks ?? 0);
  for (const [i, { contents, vector }] of found.entries()) {
    const { doc, version } = chunks[i];
    expect([contents, vector?.[0]], `seed ${seed}`).toEqual([contentsOf(doc, version), version]);
  }
}

function contentsOf(doc: string, version: number): string {
  return `doc${doc} ${version}`;
}
