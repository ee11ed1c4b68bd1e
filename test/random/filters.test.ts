/**
 * A filter answers as its predicate does on the metadata themselves, whatever they are: a filter is the border of a tenant.
 * SEALDEX_FUZZ_FILTERS says how many filters are tried, SEALDEX_FUZZ_SEED where they begin.
 */

import { expect, test } from "vitest";
import { createClient, generateKey, type IndexConfigInput, type Metric } from "../../src/core.js";
import { EncryptedVectorStore } from "../../src/index.js";
import { matchesEverything } from "../../src/api/filter/compile.js";
import { evaluateColumns } from "../../src/query/evaluate-columns.js";
import { rowsPerColumnGroup } from "../../src/state/segment/columns.js";
import { hasRow } from "../../src/state/segment/row-bits.js";
import { finish } from "../engine/finish.js";
import { agrees, conditionsOf, oracle } from "../mingo.js";
import { columnsOf } from "../segment/columns-of.js";
import { repeats } from "../tier.js";
import { type Choice, createChoice } from "./choice.js";
import { type Metadata, randomFilter, randomMetadata } from "./documents.js";

const filters = repeats("SEALDEX_FUZZ_FILTERS", { fast: 2000, all: 20_000 });
const firstSeed = Number(process.env.SEALDEX_FUZZ_SEED ?? 1);
/** Of each seed. */
const filtersOfDocuments = 200;
const filtersOfIndex = 60;

test("metadata columns answer as the predicate does, and as mingo where it follows MongoDB", () => {
  const rounds = Math.ceil(filters / filtersOfDocuments);
  let decided = 0;
  let rows = 0;
  let compared = 0;
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const choice = createChoice(seed);
    const largeShare = choice.of([0, 0.05, 0.3, 1]);
    const documents = choice.list(1 + choice.below(30), () => randomMetadata(choice, largeShare));
    const columns = columnsOf(documents);
    const isUsual = documents.map(isUsualForMingo);
    for (let i = 0; i < filtersOfDocuments; i++) {
      const { filter, root, matches } = randomFilter(choice, documents);
      const { certain, possible } = finish(evaluateColumns(root, columns, documents.length));
      const conditions = conditionsOf(filter as Metadata);
      const isPlain =
        isUsualForMingo(filter as Metadata) &&
        conditions.every(({ path }) => /^[a-z]+(\.[a-z]+)*$/.test(path));
      documents.forEach((metadata, row) => {
        const expected = matches(metadata);
        const sure = hasRow(certain, row);
        const may = hasRow(possible, row);
        if (sure ? !expected : expected && !may) fail(seed, filter, metadata, expected);
        if (sure === may) decided++;
        rows++;
        if (
          isPlain &&
          isUsual[row] &&
          compared < 20_000 &&
          conditions.every((one) => agrees(metadata, one))
        ) {
          compared++;
          if (oracle(filter, metadata) !== expected) fail(seed, filter, metadata, expected);
        }
      });
    }
  }
  expect(decided / rows).toBeGreaterThan(0.5);
  expect(compared).toBeGreaterThan(1000);
});

/** mingo fails on names of Object's own machinery, and orders texts by UTF-16 units. */
function isUsualForMingo(json: unknown): boolean {
  return !/"(constructor|toString|length|__proto__)":|[\ud800-\udfff]|\\ud8/.test(JSON.stringify(json));
}

function fail(seed: number, filter: unknown, metadata: Metadata, expected: boolean): never {
  const shown = JSON.stringify({ filter, metadata });
  throw new Error(`seed ${seed}: expected ${expected} of ${shown.slice(0, 2000)}`);
}

test("rows on both sides of the border of a column group are told apart", async () => {
  const choice = createChoice(firstSeed);
  await using client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  const index = await client.createIndex({ indexName: "groups", indexKey: generateKey() });
  const rows = rowsPerColumnGroup + 40;
  const largeFrom = choice.of([0, rowsPerColumnGroup - 5, rowsPerColumnGroup, rowsPerColumnGroup + 3]);
  const documents = choice.list(rows, (row) =>
    randomMetadata(choice, row >= largeFrom && row < largeFrom + 10 ? 1 : 0.0001),
  );
  const items = documents.map((metadata, row) => ({ id: `${row}`, vector: [row, 1], metadata }));
  await index.upsert(items);
  const near = documents.slice(largeFrom, largeFrom + 20);
  for (let i = 0; i < 40; i++) {
    const { filter, matches } = randomFilter(choice, near);
    const queryVector = [rowsPerColumnGroup + choice.below(9), 1];
    const found = await index.query({ queryVector, topK: 60, filters: filter });
    const expected = documents
      .flatMap((metadata, row) => (matches(metadata) ? [Math.abs(row - queryVector[0])] : []))
      .sort((a, b) => a - b)
      .slice(0, 60);
    expect(
      found.map(({ distance }) => distance),
      JSON.stringify(filter).slice(0, 2000),
    ).toEqual(expected);
  }
});

const types: readonly IndexConfigInput[] = [
  { type: "ivfflat" },
  { type: "ivf" },
  { type: "ivfpq", pqDim: 2, pqBits: 4 },
  { type: "ivfpq", pqDim: 4, pqBits: 8 },
];
const metrics: readonly Metric[] = ["euclidean", "cosine", "squared_euclidean"];
const dimension = 4;
const everyList = Number.MAX_SAFE_INTEGER;

test("an index answers as the predicate does, through segments, replaced rows, training and compaction", async () => {
  const rounds = Math.ceil((0.02 * filters) / filtersOfIndex);
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    await tryIndex(createChoice(seed), seed);
  }
});

async function tryIndex(choice: Choice, seed: number): Promise<void> {
  const client = createClient({
    indexLocation: { location: "memory" },
    automaticTraining: false,
    ...(choice.chance(0.3) && { cacheBytesMax: 100_000 }),
  });
  const options = { indexName: `${seed}`, indexKey: generateKey() };
  const metric = choice.of(metrics);
  const index = await client.createIndex({ ...options, metric, indexConfig: choice.of(types) });
  const model = new Map<string, Metadata>();
  const vector = () => choice.list(dimension, () => choice.below(7) - 3);
  const largeShare = choice.of([0, 0.02, 0.1]);
  let left = filtersOfIndex;

  const idsOf = (matches: (metadata: Metadata) => boolean) =>
    [...model]
      .filter(([, metadata]) => matches(metadata))
      .map(([id]) => id)
      .sort();
  const expectIds = (
    found: readonly { readonly id?: string }[],
    expected: readonly string[],
    what: unknown,
  ) => {
    const ids = found.map(({ id }) => id).sort();
    if (ids.join("\n") === expected.join("\n")) return;
    throw new Error(
      `seed ${seed}: expected ${expected.join()}, got ${ids.join()} for ${JSON.stringify(what).slice(0, 2000)}`,
    );
  };
  const upsert = async () => {
    const count = 1 + choice.below(choice.of([3, 40, 200]));
    const items = choice.list(count, () => ({
      id: `id ${choice.below(300)}`,
      vector: vector(),
      metadata: randomMetadata(choice, largeShare),
    }));
    await index.upsert(items);
    for (const { id, metadata } of items) model.set(id, metadata);
  };
  const ask = async () => {
    left--;
    const { filter, matches } = randomFilter(choice, [...model.values()]);
    const expected = idsOf(matches);
    const probing = choice.chance(0.5) ? { nProbes: everyList } : { nProbes: 0 };
    if (choice.chance(0.2)) {
      const queryVectors = choice.list(1 + choice.below(3), vector);
      const results = await index.query({ queryVectors, filters: filter, topK: 10_000, ...probing });
      for (const found of results) expectIds(found, expected, filter);
      return;
    }
    const topK = choice.chance(0.3) ? 1 + choice.below(10) : 10_000;
    const greedy = choice.chance(0.1);
    const found = await index.query({ queryVector: vector(), filters: filter, topK, greedy, ...probing });
    if (topK >= expected.length) expectIds(found, expected, filter);
    else {
      expect(found).toHaveLength(topK);
      const allowed = new Set(expected);
      expect(
        found.filter(({ id }) => !allowed.has(id)),
        `seed ${seed}: ${JSON.stringify(filter)}`,
      ).toEqual([]);
    }
  };
  const askStore = async () => {
    left--;
    const own = randomFilter(choice, [...model.values()]);
    const { filter, root, matches } = randomFilter(choice, [...model.values()]);
    const store = new EncryptedVectorStore("sealdex/lexical-512", {
      client,
      ...options,
      metric,
      filter: own.filter,
    });
    const visible = idsOf(own.matches);
    expectIds(await store.getByIds([...model.keys()]), visible, own.filter);
    const both = { store: own.filter, call: filter };
    const expected = idsOf((metadata) => own.matches(metadata) && matches(metadata));
    const found = await store.similaritySearchVectorWithScore(vector(), 10_000, filter);
    expectIds(
      found.map(([document]) => document),
      expected,
      both,
    );
    if (!choice.chance(0.3)) return;
    if (matchesEverything(root)) {
      await expect(store.delete({ filter })).rejects.toMatchObject({ code: "invalid_request" });
      return;
    }
    await store.delete({ filter });
    for (const id of expected) model.delete(id);
    expect(await index.listIds(), JSON.stringify(both).slice(0, 2000)).toEqual([...model.keys()].sort());
  };
  const deleteMatching = async () => {
    left--;
    const { filter, root, matches } = randomFilter(choice, [...model.values()]);
    if (matchesEverything(root)) {
      await expect(index.delete({ filter })).rejects.toMatchObject({ code: "invalid_request" });
      return;
    }
    await index.delete({ filter });
    for (const id of idsOf(matches)) model.delete(id);
    expect(await index.listIds(), `seed ${seed}: ${JSON.stringify(filter).slice(0, 2000)}`).toEqual(
      [...model.keys()].sort(),
    );
    expect(await index.count()).toBe(model.size);
  };
  const deleteIds = async () => {
    const ids = choice.list(5, () => `id ${choice.below(300)}`);
    await index.delete({ ids });
    for (const id of ids) model.delete(id);
  };
  const train = async () => {
    if (model.size >= 8) await index.train({ nLists: 1 + choice.below(8) });
  };

  await upsert();
  while (left > 0) {
    if (model.size === 0) await upsert();
    await choice.weighted<() => Promise<unknown>>([
      [2, () => upsert],
      [12, () => ask],
      [2, () => askStore],
      [1, () => deleteMatching],
      [1, () => deleteIds],
      [0.5, () => train],
      [0.5, () => () => index.compact()],
    ])();
  }
  await client.close();
}
