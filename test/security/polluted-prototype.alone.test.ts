/** Properties of `Object.prototype` are options of no call, fields of no item and values of no metadata. */

import { expect, test } from "vitest";
import {
  createClient,
  EncryptedVectorStore,
  type Filter,
  generateKey,
  LexicalEmbeddings,
} from "../../src/index.js";
import * as methods from "../../src/api/method-options.js";
import { takeOwnOptions } from "../../src/index/take-options.js";
import { hasOption, type OptionNames, takeOptions } from "../../src/checks/option-names.js";
import { encodeItem } from "../../src/client/wire/wire.js";
import { drain } from "../behavior/listing.js";

const aborted = AbortSignal.abort(new Error("polluted"));
/** Properties that could be taken for options and change the effect of a call. */
const valid: Readonly<Record<string, unknown>> = {
  after: "z",
  deleteAll: true,
  deleteFilter: { tenant: "a" },
  expiresAt: 1,
  filter: { tenant: "nobody" },
  filters: { tenant: "nobody" },
  include: [],
  limit: 0,
  metadata: { tenant: "nobody" },
  namespace: "nobody",
  oblivious: true,
  pageSize: 1,
  precision: "int8",
  replace: true,
  signal: aborted,
  skipUnchanged: true,
  topK: 0,
  unset: ["tenant"],
  within: { tenant: "nobody" },
};

function isOptionNames(value: unknown): value is OptionNames {
  return typeof value === "object" && value !== null && "names" in value;
}

const tables = [...Object.values(methods), ...Object.values(methods.methodOptions)].filter(isOptionNames);
const names = [...new Set(tables.flatMap((table) => [...table.names]))].sort();

/** The results of calls of all kinds. */
async function work(): Promise<unknown> {
  const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  const address = { indexName: "index", indexKey: generateKey() };
  const index = await client.createIndex({ ...address, textIndex: true });
  const results: unknown[] = [];
  const items = ["a", "b", "c"].map((tenant, i) => ({
    id: tenant,
    vector: [i, 1],
    contents: `text ${tenant}`,
    metadata: { tenant },
  }));
  results.push(await index.upsert(items), encodeItem(items[0], "item"));
  results.push(await (await client.loadIndex(address)).count());
  const filter: Filter = { tenant: { $in: ["a", "b"] } };
  results.push(
    await index.get(["a", "c"]),
    await index.query({ queryVector: [0, 1] }),
    await index.query({ queryVectors: [[0, 1]], filter }),
    await index.query({ queryText: "text", filter }),
    await index.listItems({ orderBy: { tenant: "desc" } }),
    await index.listIds(),
    await index.listItems(),
    await drain(index.items({ filter })),
    await index.count({ filter }),
    await index.count({ filter: { expiresAt: { $exists: true } } }),
    await index.update({ ids: ["a"] }, { metadata: { year: 1 } }),
    await index.delete({ ids: ["c"] }),
    await index.train({ nLists: 1 }),
    await index.compact(),
    await index.namespaces.list(),
    await index.wraps.list(),
    await index.get(["a", "b", "c"]),
  );
  const store = new EncryptedVectorStore(new LexicalEmbeddings({ dimension: 16 }), {
    indexName: "store",
    indexKey: generateKey(),
    client,
  });
  await store.addDocuments([{ pageContent: "text", metadata: { tenant: "a" } }], { ids: ["a"] });
  const found = await store.similaritySearch("text");
  const retrieved = await store.asRetriever().invoke("text");
  results.push(...[...found, ...retrieved].map(({ pageContent, metadata }) => ({ pageContent, metadata })));
  await store.delete({ ids: ["a"] });
  results.push(await store.count(), await client.listIndexes());
  await client.close();
  return JSON.parse(JSON.stringify(results));
}

const expected = await work();

/** Runs `call` while every object has this property. */
async function polluted<T>(name: string, value: unknown, call: () => Promise<T> | T): Promise<T> {
  const property = { value, enumerable: true, configurable: true, writable: true };
  // oxlint-disable-next-line no-extend-native
  Object.defineProperty(Object.prototype, name, property);
  try {
    return await call();
  } finally {
    Reflect.deleteProperty(Object.prototype, name);
  }
}

test.each(names)("%s is taken from no object that has it from there", async (name) => {
  const value = valid[name] ?? "polluted";
  const item = { id: "a", vector: [1, 2], metadata: { year: 1 } };
  const plain = JSON.stringify(encodeItem(item, "item"));
  await polluted(name, value, () => {
    for (const table of tables) {
      for (const options of [{}, Object.create({}) as object]) {
        expect(takeOptions(options, table)).toStrictEqual(table.absent);
        expect(takeOwnOptions(options, table)).toStrictEqual(table.absent);
      }
      for (const known of table.names) expect(hasOption({}, known)).toBe(false);
    }
    expect(JSON.stringify(encodeItem(item, "item"))).toBe(plain);
  });
});

test.each(names)("%s changes nothing from there", async (name) => {
  for (const value of name in valid ? [valid[name], "polluted"] : ["polluted"]) {
    expect(await polluted(name, value, work)).toEqual(expected);
  }
});

test("items of an open index do not expire by it", async () => {
  await using client = createClient({ indexLocation: { location: "memory" } });
  const index = await client.createIndex({ indexName: "index", indexKey: generateKey() });
  await polluted("expiresAt", 1, () => index.upsert([{ id: "a", vector: [1] }]));
  expect(await index.get(["a"], { include: ["metadata"] })).toEqual([{ id: "a", metadata: {} }]);
});

test("options of instances of classes and of prototypes of the caller's own still count", async () => {
  class Options {
    get limit() {
      return 1;
    }
  }
  await using client = createClient({ indexLocation: { location: "memory" } });
  const index = await client.createIndex({ indexName: "index", indexKey: generateKey() });
  await index.upsert(["a", "b"].map((id) => ({ id, vector: [1] })));
  expect(await index.listIds(new Options())).toEqual(["a"]);
  expect(
    await index.listIds(Object.create(Object.assign(Object.create(null), { limit: 1 })) as object),
  ).toEqual(["a"]);
});
