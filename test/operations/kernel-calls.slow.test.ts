/** How many kernel calls each query takes once what it reads is in memory: what makes it fast, and would not show otherwise. */

import { createHook } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { kernelCalls } from "./count-kernels.js";
import { onThisThread } from "./on-this-thread.js";
import {
  type BlobStore,
  type Client,
  createClient,
  type EmbeddedClientOptions,
  generateKey,
  type IndexConfigInput,
  openLocation,
  type VectorIndex,
} from "../../src/core.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { useFakeTime, useRealTime } from "../fake-time.js";
import { plainResults, served } from "../../src/api/served-index.js";

const d = 32;
const nLists = 60;
const vectors = rowsOf(clustered(6000, d, 25, 3), d);
const items = vectors.map((vector, i) => ({ id: `${i}`, vector, metadata: { n: i, odd: i % 2 } }));
const asked = { queryVector: vectors[7], topK: 10, nProbes: 6 };
/** What makes the vector of a query, or its rotation, fit for kernels. */
const preparing = ["measureQuery", "rotateQuery", "rotate"];

type Options = Pick<EmbeddedClientOptions, "cacheBytesMax" | "maxStalenessMs">;

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

const named = { indexName: "a", indexKey: generateKey() };

function newClient(store = openLocation({ location: "memory" }), options: Options = {}): Client {
  const client = createClient({ indexLocation: store, automaticTraining: false, ...options });
  clients.push(client);
  return client;
}

async function newIndex(indexConfig: IndexConfigInput, client = newClient()) {
  const index = await client.createIndex({ ...named, indexConfig });
  await index.upsert(items);
  return index;
}

const stores = new Map<string, Promise<BlobStore>>();

/** Opens an index that was filled, and trained, once: tests only read it, each with a client of its own. */
async function sharedIndex(indexConfig: IndexConfigInput, options?: Options, isTrained = true) {
  const key = JSON.stringify([indexConfig, isTrained]);
  const fill = async () => {
    const store = openLocation({ location: "memory" });
    const index = await newIndex(indexConfig, newClient(store));
    if (isTrained) await index.train({ nLists });
    return store;
  };
  const filling = stores.get(key) ?? fill();
  stores.set(key, filling);
  return newClient(await filling, options).loadIndex(named);
}

/** Calls other than those that prepare the query. */
async function scans(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const counts = Object.entries(await kernelCalls(work));
  return Object.fromEntries(counts.filter(([name]) => !preparing.includes(name)));
}

async function warmIndex(indexConfig: IndexConfigInput = { type: "ivfflat" }, options?: Options) {
  const index = await sharedIndex(indexConfig, options);
  await warm(index);
  return index;
}

async function warm(index: VectorIndex): Promise<void> {
  await index.query({ ...asked, nProbes: nLists });
  await index.query(asked);
}

test("without a model all rows are scanned by one call", async () => {
  const index = await newIndex({ type: "ivfflat" });
  await index.query(asked);
  expect(await scans(() => index.query(asked))).toEqual({ scanFlat: 1, sortHeap: 1 });
});

test("a warm query is one call, however many lists it probes", async () => {
  const index = await warmIndex();
  for (const nProbes of [1, 6, 30, 0]) {
    expect(await scans(() => index.query({ ...asked, nProbes }))).toEqual({ searchLists: 1 });
  }
  const total = Object.values(await kernelCalls(() => index.query(asked)));
  expect(total.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4);
});

async function promisesOf(work: () => Promise<unknown>): Promise<{ begun: number; made: number }> {
  let made = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") made++;
    },
  });
  // Queries awaited one after another share turns of the event loop, and wait for the next one if they take long: this one begins a turn,
  // in which no time passes, however busy the machine is.
  await new Promise((resolve) => setImmediate(resolve));
  useFakeTime(["performance"]);
  hook.enable();
  try {
    const answer = work();
    const begun = made;
    await answer;
    return { begun, made };
  } finally {
    hook.disable();
    useRealTime();
  }
}

const types = [
  { type: "ivfflat" },
  { type: "ivfflat", precision: "int8" },
  { type: "ivf" },
  { type: "ivfpq", pqDim: 8 },
  { type: "ivfpq", pqDim: 8, pqBits: 4 },
] as const;
const filters = [undefined, { odd: 1 }, { n: { $lt: 3000 } }, { n: { $lt: 20 } }, { n: -1 }];

describe.each([0, 3_600_000])("a warm query that may be %s ms stale", (maxStalenessMs) => {
  test.each(types)("of %o makes the promise that it returns, and no other", async (indexConfig) => {
    const index = await warmIndex(indexConfig, { maxStalenessMs });
    const include = ["distance", "metadata", "contents"] as const;
    for (const filter of filters) {
      const request = { ...asked, ...(filter && { filter }) };
      // Of these lists some have too few rows.
      const many = { topK: 250, nProbes: 2 };
      for (const more of [
        {},
        { nProbes: 0 },
        { nProbes: 0, recall: 0.9 },
        { nProbes: 30 },
        many,
        { include },
      ]) {
        const { nProbes, ...rest } = { ...request, ...more };
        const whole = { ...rest, ...("recall" in more ? {} : { nProbes }) };
        await index.query(whole);
        const promises = await promisesOf(() => index.query(whole));
        expect(promises, JSON.stringify({ filter, more })).toEqual({ begun: 1, made: 2 });
      }
    }
  });
});

test.each(types)("of %o, whatever its filter, a warm query makes few promises", async (indexConfig) => {
  for (const maxStalenessMs of [0, 3_600_000]) {
    for (const isTrained of [false, true]) {
      const index = await sharedIndex(indexConfig, { maxStalenessMs }, isTrained);
      for (const filter of [undefined, { odd: 1 }, { n: { $lt: 20 } }, { n: -1 }]) {
        const request = { ...asked, ...(filter && { filter }) };
        await index.query({ ...request, nProbes: nLists });
        await index.query(request);
        const { made } = await promisesOf(() => index.query(request));
        const most = maxStalenessMs > 0 ? 13 : 21;
        expect(made, JSON.stringify(filter)).toBeLessThanOrEqual(isTrained ? 2 : most);
      }
    }
  }
});

test.each(types)("of %o, a query that has to read blocks scans each of them once", async (indexConfig) => {
  const index = await sharedIndex(indexConfig, { cacheBytesMax: 0 });
  for (const filter of [{ odd: 1 }, { n: { $lt: 3000 } }]) {
    const request = { ...asked, nProbes: nLists - 1, filter };
    const once = { searchLists: 1, scanFlat: 1, sortHeap: 1 };
    expect(await scans(() => index.query(request))).toMatchObject(once);
  }
});

const wide = rowsOf(clustered(4000, 1024, 2, 3), 1024);

test.each(types)(
  "of %o, blocks of which a filter needs parts are read once it is in use",
  async (indexConfig) => {
    const index = await newClient().createIndex({ ...named, indexConfig });
    await index.upsert(wide.map((vector, i) => ({ id: `${i}`, vector, metadata: { i } })));
    await index.train({ nLists: 3 });
    const half = { queryVector: wide[7], topK: 10, nProbes: 1, filter: { i: { $gte: 1900 } } };
    for (let round = 0; round < 40; round++) await index.query(half);
    while ("scanFlat" in (await scans(() => index.query(half)))) await new Promise(setImmediate);
  },
);

test.each([
  [
    "whose results are counted, as a service does",
    {},
    { reserveBytes: async () => undefined, rawMetadata: false },
  ],
  ["of many neighbors", { topK: 400, nProbes: 30 }, plainResults],
  ["that includes vectors", { include: ["vector"] as const }, plainResults],
])("a warm query %s is searched once", async (_, more, results) => {
  for (const options of [{}, { maxStalenessMs: 3_600_000 }]) {
    const index = await warmIndex({ type: "ivfflat" }, options);
    const request = { ...asked, ...more };
    const ask = () => served(index).query(request, results);
    await ask();
    expect((await scans(ask)).searchLists).toBe(1);
  }
});

test("among all lists it is one call to order them and one to scan them", async () => {
  const index = await warmIndex();
  const all = { ...asked, nProbes: nLists };
  expect(await scans(() => index.query(all))).toEqual({ probeLists: 1, scanFlat: 1, sortHeap: 1 });
});

test.each(types)(
  "of %o, after a write, a training or a merge the first query reads what is new, and the second is warm again",
  async (indexConfig) => {
    const index = await newIndex(indexConfig);
    await index.train({ nLists });
    await warm(index);
    const changes = [
      () => index.upsert(items.slice(0, 10)),
      () => index.delete({ ids: ["20"] }),
      () => index.train({ nLists }),
      () => index.compact(),
    ];
    const half = { ...asked, filter: { odd: 1 } };
    for (const change of changes) {
      await change();
      for (const request of [asked, half]) await index.query(request);
      expect(await scans(() => index.query(asked))).toMatchObject({ searchLists: 1 });
      expect(await scans(() => index.query(half))).toMatchObject({ searchLists: 1 });
    }
  },
);

test("warm queries of a batch are one call each, with a filter or without", async () => {
  const index = await warmIndex();
  const queryVectors = vectors.slice(0, 16);
  const batch = { ...asked, queryVector: undefined, queryVectors };
  for (const filter of [undefined, { odd: 1 }]) {
    const request = { ...batch, ...(filter && { filter }) };
    await index.query(request);
    expect(await onThisThread(() => scans(() => index.query(request)))).toEqual({ searchLists: 16 });
  }
});

test("queries of a batch that have to read blocks scan them with a call each", async () => {
  const index = await sharedIndex({ type: "ivfflat" }, { cacheBytesMax: 0 });
  for (const filter of [undefined, { odd: 1 }]) {
    const batch = { topK: 10, nProbes: 6, queryVectors: vectors.slice(0, 16), ...(filter && { filter }) };
    const counts = await onThisThread(() => scans(() => index.query(batch)));
    expect(counts).toMatchObject({ searchLists: 16, scanFlat: 16, sortHeap: 16 });
  }
});

test("with a filter, lists with a match are found and scanned by one call; few that match, without probing", async () => {
  const index = await warmIndex();
  const half = { ...asked, filter: { odd: 1 } };
  await index.query(half);
  expect(await scans(() => index.query(half))).toEqual({ searchLists: 1 });
  const few = { ...asked, filter: { n: { $lt: 20 } } };
  await index.query(few);
  expect(Object.keys(await scans(() => index.query(few)))).not.toContain("probeLists");
});

test.each(types.filter(({ type }) => type !== "ivfflat"))(
  "of %o, codes are compared with tables that one call makes, by as many calls as vectors",
  async (indexConfig) => {
    const index = await warmIndex(indexConfig);
    for (const nProbes of [1, 6, 30, 0]) {
      const counts = await scans(() => index.query({ ...asked, nProbes }));
      expect(counts).toEqual({ prepareCodes: 1, searchLists: 1 });
    }
    // Codes are all that there is of these rows, so few that match are looked for in the lists, too.
    for (const filter of [{ odd: 1 }, { n: { $lt: 20 } }]) await index.query({ ...asked, filter });
    const half = await scans(() => index.query({ ...asked, filter: { odd: 1 } }));
    expect(half).toEqual({ prepareCodes: 1, searchLists: 1 });
    const few = await scans(() => index.query({ ...asked, filter: { n: { $lt: 20 } } }));
    expect(few).toEqual({ prepareCodes: 1, searchLists: 1 });
  },
);

test("decoding the rows that a query found is one call per segment, however many blocks they are in", async () => {
  const decoding = { ...asked, nProbes: 0, topK: 50, include: ["decoded"] } as const;
  const index = await warmIndex({ type: "ivf" });
  await index.query(decoding);
  const { rotateBack } = await scans(() => index.query(decoding));
  expect(rotateBack).toBe(1);
  const product = await warmIndex({ type: "ivfpq", pqDim: 8 });
  await product.query(decoding);
  // Codewords are put together without a quantizer in kernel memory.
  const { halfSquares, rotateBack: none } = await scans(() => product.query(decoding));
  expect([halfSquares, none]).toEqual([undefined, undefined]);
});

test.each(types)(
  "a batch of %o that is aborted begins with none of the queries that are left",
  async (config) => {
    const index = await warmIndex(config);
    const controller = new AbortController();
    const queryVectors = Array.from({ length: 200 }, (_, i) => vectors[i % vectors.length]);
    const batch = { ...asked, queryVector: undefined, queryVectors };
    const work = async () => {
      const query = index.query({ ...batch, signal: controller.signal });
      await expect(query).rejects.toMatchObject({ name: "AbortError" });
      // What goes on unheard would have its turns now.
      for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate);
    };
    const abort = (name: string) => name === "searchLists" && controller.abort();
    const counts = await onThisThread(() => kernelCalls(work, abort));
    expect(counts.searchLists).toBe(64);
  },
);
