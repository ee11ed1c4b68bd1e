/**
 * Every option that a method takes is taken, and one that it does not take is refused by its name: of embedded clients
 * and of clients over HTTP alike.
 */

import { describe, expect, test } from "vitest";
import {
  awsKmsKey,
  type Client,
  createClient,
  type Filter,
  generateKey,
  googleKmsKey,
  type SingleQuery,
  vaultKey,
  type VectorIndex,
} from "../../src/core.js";
import {
  embeddedClientOptions,
  httpClientOptions,
  indexConfigOptions,
  itemChangeOptions,
  itemFields,
  methodOptions,
  selectionOptions,
  updateSelectionOptions,
} from "../../src/api/method-options.js";
import type { OptionNames } from "../../src/checks/option-names.js";
import { startBoth } from "../http/both-clients.js";

const { service, clients } = await startBoth();

const { signal } = new AbortController();
const namespace = "tenant";
const model = "sealdex/lexical-16";
/** A grey image of one pixel. */
const gif = new Uint8Array(Buffer.from("R0lGODlhAQABAIAAAICAgAAAACwAAAAAAQABAAACAkQBADs=", "base64"));
const vector = Array.from({ length: 16 }, (_, i) => i + 1);
let made = 0;

const embedding = {
  embedQuery: async () => vector,
  embedDocuments: async (texts: readonly string[]) => texts.map(() => vector),
};

/** The call as it is, or for one of the options that a service cannot take, that it was refused. */
async function embeddedOnly(
  names: readonly string[],
  options: object,
  client: Client,
  call: Promise<unknown>,
) {
  if (client.kind === "embedded" || !names.some((name) => Object.hasOwn(options ?? {}, name))) return call;
  return expect(call).rejects.toMatchObject({
    code: expect.stringMatching(/^(not_supported|invalid_request)$/),
  });
}

interface Case {
  readonly takes: OptionNames;
  /** Together they hold every option. */
  readonly valid: readonly object[];
  readonly call: (options: never, client: Client, index: VectorIndex) => Promise<unknown>;
}

const address = () => ({ indexName: `made ${made++}`, indexKey: generateKey() });

const cases: Record<string, Case> = {
  createIndex: {
    takes: methodOptions.createIndex,
    valid: [
      { indexConfig: { type: "ivfflat" }, metric: "cosine", embeddingModel: model, signal },
      { embedding },
      { textIndex: { analyzer: { language: "german" } } },
    ],
    call: (options: object, client) => {
      const creating = client.createIndex({ ...address(), ...options });
      return embeddedOnly(["embedding"], options, client, creating);
    },
  },
  loadIndex: {
    takes: methodOptions.loadIndex,
    valid: [{ signal, embedding }, { anchor: "of the index" }],
    call: async (options: object, client, index) => {
      const anchor = "anchor" in options ? await index.anchor() : undefined;
      const loading = client.loadIndex({ ...keyOf(index), ...options, anchor });
      return embeddedOnly(["embedding"], options, client, loading);
    },
  },
  listIndexes: {
    takes: methodOptions.listIndexes,
    valid: [{ limit: 1, after: "a", signal }],
    call: (options, client) => client.listIndexes(options),
  },
  deleteIndex: {
    takes: methodOptions.deleteIndex,
    valid: [{ signal }],
    call: async (options: object, client) => {
      const taken = address();
      await client.createIndex(taken);
      await client.deleteIndex({ ...taken, ...options });
    },
  },
  upsert: {
    takes: methodOptions.upsert,
    valid: [{ deleteFilter: { a: 1 }, skipUnchanged: true, namespace, signal }, { within: {} }],
    call: (options, _client, index) => index.upsert([{ id: "a", vector }], options),
  },
  update: {
    takes: methodOptions.update,
    valid: [{ namespace, signal }],
    call: (options, _client, index) => index.update({ ids: ["z"] }, { unset: ["a"] }, options),
  },
  change: {
    takes: itemChangeOptions,
    valid: [{ metadata: { a: 1 }, replace: true }, { unset: ["a"] }],
    call: (change: object, _client, index) => {
      const isWhole = Object.keys(change).some((name) => itemChangeOptions.names.has(name));
      return index.update({ ids: ["z"] }, isWhole ? change : { unset: ["a"], ...change });
    },
  },
  updateSelection: {
    takes: updateSelectionOptions,
    valid: [{ ids: ["z"] }, { filter: { a: "z" } }, { updateAll: true }],
    call: (selection: object, _client, index) => {
      const isWhole = Object.keys(selection).some((name) => updateSelectionOptions.names.has(name));
      return index.update((isWhole ? selection : { ids: ["z"], ...selection }) as never, { unset: ["a"] });
    },
  },
  item: {
    takes: itemFields,
    valid: [
      { id: "a", vector, contents: "text", metadata: { year: 1 } },
      { id: "a", vector, contents: gif, keep: "a grey dot", expiresAt: 4e12 },
    ],
    call: (item: object, _client, index) => index.upsert([{ id: "a", vector, ...item }]),
  },
  query: {
    takes: methodOptions.query,
    valid: [
      {
        queryVector: vector,
        topK: 1,
        nProbes: 2,
        greedy: true,
        filter: { a: 1 },
        include: ["distance"],
        namespace,
        signal,
      },
      { queryVectors: [vector], filters: { a: 1 }, recall: 0.9 },
      { queryVector: vector, allowPartialAfterMs: 1000, include: ["profile"] },
      { queryContents: "text", rerank: (_: string, texts: string[]) => texts.map(() => 1) },
      { queryText: "text", queryContents: "text", fusion: { method: "rank" } },
    ],
    call: (options: object, client, index) => {
      const isWhole = Object.keys(options).some((name) => name.startsWith("query"));
      const request = isWhole ? options : { queryVector: vector, ...options };
      return embeddedOnly(["rerank"], options, client, index.query(request as SingleQuery));
    },
  },
  get: {
    takes: methodOptions.get,
    valid: [{ include: ["vector"], namespace, signal }],
    call: (options, _client, index) => index.get(["a"], options),
  },
  delete: {
    takes: methodOptions.delete,
    valid: [{ namespace, signal }],
    call: (options, _client, index) => index.delete({ ids: ["z"] }, options),
  },
  selection: {
    takes: selectionOptions,
    valid: [{ ids: ["z"] }, { filter: { a: "z" } }, { deleteAll: true }],
    call: (selection: object, _client, index) =>
      index.delete(
        Object.keys(selection).some((name) => selectionOptions.names.has(name))
          ? (selection as never)
          : ({ ids: ["z"], ...selection } as never),
      ),
  },
  listIds: {
    takes: methodOptions.listIds,
    valid: [{ limit: 1, after: "a", filter: { a: 1 }, namespace, signal }],
    call: (options, _client, index) => index.listIds(options),
  },
  listItems: {
    takes: methodOptions.listItems,
    valid: [
      { orderBy: { a: "asc" } },
      {
        filter: { a: 1 },
        include: ["metadata"],
        limit: 1,
        after: "a",
        namespace,
        signal,
      },
      { cursor: undefined },
    ],
    call: (options, _client, index) => index.listItems(options),
  },
  items: {
    takes: methodOptions.items,
    valid: [{ filter: { a: 1 }, include: ["metadata"], pageSize: 1, after: "a", namespace, signal }],
    call: (options, _client, index) => index.items(options).next(),
  },
  count: {
    takes: methodOptions.count,
    valid: [{ filter: { a: 1 }, namespace, signal }],
    call: (options, _client, index) => index.count(options),
  },
  "namespaces.list": {
    takes: methodOptions.listNamespaces,
    valid: [{ signal }],
    call: (options, _client, index) => index.namespaces.list(options),
  },
  erase: {
    takes: methodOptions.erase,
    valid: [{ signal }],
    call: (options, _client, index) => index.erase(namespace, options),
  },
  "namespaces.readReceipt": {
    takes: methodOptions.readReceipt,
    valid: [{ signal }],
    call: async (options: object, _client, index) => {
      const { receipt } = await index.erase(namespace);
      return index.namespaces.readReceipt(receipt, options);
    },
  },
  train: {
    takes: methodOptions.train,
    valid: [{ nLists: 1, queries: [vector], onProgress: () => {}, signal }],
    call: async (options: object, client, index) => {
      await index.upsert([{ id: "a", vector }]);
      return embeddedOnly(["onProgress"], options, client, index.train(options));
    },
  },
  compact: {
    takes: methodOptions.compact,
    valid: [{ signal }],
    call: (options, _client, index) => index.compact(options),
  },
  rotateKey: {
    takes: methodOptions.rotateKey,
    valid: [{ signal }],
    call: (options, _client, index) => index.rotateKey(generateKey(), options),
  },
  prefetch: {
    takes: methodOptions.prefetch,
    valid: [{ signal }],
    call: (options: object, client, index) =>
      embeddedOnly(["signal"], options, client, index.prefetch(options)),
  },
  reencrypt: {
    takes: methodOptions.reencrypt,
    valid: [{ signal }],
    call: (options, _client, index) => index.reencrypt(options),
  },
  "wraps.add": {
    takes: methodOptions.addWrap,
    valid: [{ name: "reader", key: "k", access: "read-only", expiresAt: new Date(8e15), signal }],
    call: (options: object, _client, index) =>
      index.wraps.add({ name: "reader", access: "read-only", ...options, key: generateKey() }),
  },
  "wraps.list": {
    takes: methodOptions.listWraps,
    valid: [{ signal }],
    call: (options, _client, index) => index.wraps.list(options),
  },
  "wraps.revoke": {
    takes: methodOptions.revokeWrap,
    valid: [{ signal }],
    call: async (options, _client, index) => {
      await index.wraps.add({ name: `${++made}`, key: generateKey(), access: "read-only" });
      return index.wraps.revoke(`${made}`, options);
    },
  },
  anchor: {
    takes: methodOptions.anchor,
    valid: [{ signal }],
    call: (options, _client, index) => index.anchor(options),
  },
  describe: {
    takes: methodOptions.describe,
    valid: [{ signal }],
    call: (options, _client, index) => index.describe(options),
  },
  indexConfig: {
    takes: indexConfigOptions,
    valid: [
      { type: "ivfpq", dimension: 16, nLists: 4, pqDim: 4, pqBits: 4 },
      { type: "ivfflat", precision: "int8", spilling: false },
    ],
    call: (indexConfig: object, client) =>
      client.createIndex({ ...address(), indexConfig: { type: "ivfflat", ...indexConfig } }),
  },
};

const keys = new Map<string, { indexName: string; indexKey: string }>();
const keyOf = ({ indexName }: VectorIndex) => keys.get(indexName) as { indexName: string; indexKey: string };

async function newIndex(client: Client): Promise<VectorIndex> {
  const options = address();
  keys.set(options.indexName, options);
  return client.createIndex({ ...options, embeddingModel: model, textIndex: true });
}

/** Taken by every case's own address. */
const always = ["indexName", "indexKey"];

describe.each(Object.keys(clients))("%s", (where) => {
  const client = clients[where];

  test.each(Object.keys(cases))("%s takes every option that its types have", async (name) => {
    const { takes, valid, call } = cases[name];
    const tried = new Set([...valid.flatMap(Object.keys), ...always]);
    expect([...takes.names].filter((option) => !tried.has(option))).toEqual([]);
    for (const options of valid) {
      await expect(call(options as never, client, await newIndex(client))).resolves.not.toBeInstanceOf(Error);
    }
  });

  test.each(Object.keys(cases))("%s refuses an option that it does not take", async (name) => {
    const { call } = cases[name];
    const index = await newIndex(client);
    for (const options of [{ signals: undefined }, { k: 1 }]) {
      await expect(call(options as never, client, index)).rejects.toMatchObject({
        code: "invalid_request",
        message: expect.stringContaining("unknown property"),
      });
    }
  });

  test.each(Object.keys(cases))(
    "%s refuses a value of another kind before anything is sent",
    async (name) => {
      const { takes, call } = cases[name];
      const index = await newIndex(client);
      for (const [option] of takes.checks) {
        // Refused over HTTP whatever it is.
        if (option === "onProgress" && client.kind !== "embedded") continue;
        const options = { [option]: {} };
        await expect(call(options as never, client, index), option).rejects.toMatchObject({
          code: "invalid_request",
          message: expect.stringMatching(new RegExp(`^${option}: expected .*`)),
        });
      }
    },
  );

  test.each([
    "upsert",
    "listIndexes",
    "get",
    "update",
    "listIds",
    "listItems",
    "items",
    "count",
    "train",
    "compact",
    "describe",
    "rotateKey",
    "prefetch",
    "reencrypt",
    "wraps.list",
    "wraps.revoke",
    "anchor",
    "delete",
  ])("%s refuses options that are no object", async (name) => {
    const index = await newIndex(client);
    for (const options of [null, "text", 1, ["a"]]) {
      await expect(cases[name].call(options as never, client, index)).rejects.toMatchObject({
        code: "invalid_request",
        message: expect.stringMatching(/expected an object, got (null|string|number|an array)/),
      });
    }
  });

  test("the nearest name that exists is in the message", async () => {
    const index = await newIndex(client);
    const refusal = (options: object) => index.query({ queryVector: vector, ...options });
    await expect(refusal({ k: 1 })).rejects.toThrow('unknown property "k"; did you mean "topK"?');
    await expect(refusal({ top_k: 1 })).rejects.toThrow('did you mean "topK"?');
    await expect(refusal({ where: { a: 1 } })).rejects.toThrow('unknown property "where"');
    await expect(refusal({ filer: {} })).rejects.toThrow('did you mean "filter"?');
    const inherited = Object.create(
      { nProbe: 1 },
      { queryVector: { value: vector, enumerable: true } },
    ) as never;
    await expect(index.query(inherited)).rejects.toThrow('did you mean "nProbes"?');
    await expect(client.createIndex({ ...address(), dimensions: 3 } as never)).rejects.toThrow(
      'did you mean "indexConfig.dimension"?',
    );
    await expect(index.count({ signl: signal } as object)).rejects.toThrow('did you mean "signal"?');
  });

  test("a name that may be a secret is not repeated", async () => {
    const index = await newIndex(client);
    const secret = generateKey();
    const attempt = index.count({ [secret]: 1, "redis://user:pass@host": 2 } as object);
    await expect(attempt).rejects.toThrow("count: unknown property another name");
    await expect(attempt).rejects.not.toThrow(secret);
  });

  test("filter and filters mean the same, and only one may be given", async () => {
    const index = await newIndex(client);
    await index.upsert([1, 2].map((year) => ({ id: `${year}`, vector, metadata: { year } })));
    for (const name of ["filter", "filters"]) {
      const found = await index.query({ queryVector: vector, [name]: { year: 2 } });
      expect(found.map(({ id }) => id)).toEqual(["2"]);
    }
    const both = index.query({ queryVector: vector, filter: { year: 1 }, filters: { year: 1 } });
    await expect(both).rejects.toMatchObject({ code: "invalid_request", message: /got both/ });
    const one = await index.query({ queryVector: vector, filter: { year: 1 }, filters: undefined });
    expect(one.map(({ id }) => id)).toEqual(["1"]);
  });

  test("a filter that everything matches deletes nothing; deleteAll deletes everything", async () => {
    const index = await newIndex(client);
    await index.upsert([1, 2].map((year) => ({ id: `${year}`, vector, metadata: { year } })));
    const empty: Filter[] = [
      {},
      { $and: [{}] },
      { $or: [{ year: 1 }, {}] },
      { year: { $nin: [] } },
      { $and: [{ $or: [{}, { a: 1 }] }, { b: { $nin: [] } }] },
    ];
    for (const filter of empty) {
      await expect(index.delete({ filter })).rejects.toMatchObject({
        code: "invalid_request",
        message: expect.stringContaining("deleteAll: true"),
      });
    }
    for (const selection of [
      { deleteAll: false },
      { deleteAll: "true" },
      { deleteAll: true, ids: ["1"] },
      {},
    ]) {
      await expect(index.delete(selection as never)).rejects.toMatchObject({ code: "invalid_request" });
    }
    expect(await index.count()).toBe(2);
    await index.delete({ filter: { year: { $in: [] } } });
    expect(await index.count()).toBe(2);
    await index.delete({ deleteAll: true });
    expect(await index.count()).toBe(0);
  });
});

test("createClient refuses an option that it does not take", () => {
  const indexLocation = { location: "memory" } as const;
  for (const options of [
    { indexLocation, cacheBytes: 1 },
    { indexLocation, apiKey: "k" },
    { baseUrl: "http://127.0.0.1:1", indexLocation },
    { baseUrl: "http://127.0.0.1:1", timeout: 1 },
  ]) {
    expect(() => createClient(options as never)).toThrow(/createClient: unknown property/);
  }
  const names = { embedded: embeddedClientOptions.names, http: httpClientOptions.names };
  expect([...names.embedded].sort()).toEqual([
    "anchorLocation",
    "automaticTraining",
    "cacheBytesMax",
    "configLocation",
    "indexLocation",
    "maxStalenessMs",
    "models",
    "oblivious",
    "retentionMs",
    "storageTimeoutMs",
  ]);
  expect([...names.http].sort()).toEqual(["apiKey", "baseUrl", "maxRetries", "timeoutMs"]);
});

test.each<[string, (more: object) => unknown]>([
  ["models", (more) => createClient({ indexLocation: { location: "memory" }, models: { ...more } })],
  ["awsKmsKey", (more) => awsKmsKey({ keyId: "arn", ...more })],
  [
    "googleKmsKey",
    (more) => {
      const name = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
      return googleKmsKey({ name, accessToken: () => "token", ...more });
    },
  ],
  ["vaultKey", (more) => vaultKey({ address: "https://vault", key: "k", token: "t", ...more })],
])("%s refuses an option that it does not take", (where, make) => {
  make({});
  expect(() => make({ offLine: true })).toThrow(`${where}: unknown property "offLine"`);
});

test("a query takes its options from objects of any kind", async () => {
  await using client = createClient({ indexLocation: { location: "memory" } });
  const index = await client.createIndex(address());
  await index.upsert([1, 2].map((year) => ({ id: `${year}`, vector: [year], metadata: { year } })));
  const queryVector = [1];
  const filter: Filter = { year: 2 };
  const shared = { queryVector, filter };
  class Request {
    readonly queryVector = queryVector;
    get filter(): Filter {
      return filter;
    }
  }
  class UnknownRequest extends Request {
    readonly filtre = filter;
  }
  const requests: SingleQuery[] = [
    { ...shared, topK: 1 },
    Object.assign(Object.create(null) as object, shared),
    Object.create(shared) as SingleQuery,
    Object.defineProperty({ queryVector }, "filter", { value: filter, enumerable: false }),
    Object.defineProperty({ queryVector }, "filter", { get: () => filter }),
    new Request(),
    // A proxy may have options that it does not list.
    new Proxy<SingleQuery>(
      { queryVector },
      { get: (target, name) => (name === "filter" ? filter : (Reflect.get(target, name) as unknown)) },
    ),
  ];
  for (const request of requests) expect(await index.query(request)).toMatchObject([{ id: "2" }]);
  const hidden = Object.defineProperty({ queryVector }, "filtre", { value: filter, enumerable: false });
  for (const request of [
    new UnknownRequest(),
    Object.create({ ...shared, filtre: 1 }) as SingleQuery,
    hidden,
  ]) {
    await expect(index.query(request)).rejects.toThrow(/query: unknown property "filtre"/);
  }
});

test("over HTTP, filter and filters mean the same in bodies too", async () => {
  const body = await service.newIndex();
  const items = [1, 2].map((year) => ({ id: `${year}`, vector: [year], metadata: { year } }));
  await service.post("/v1/vectors/upsert", { ...body, items });
  for (const name of ["filter", "filters"]) {
    const found = await service.post("/v1/vectors/query", {
      ...body,
      query_vectors: [1],
      [name]: { year: 2 },
    });
    expect(found.body.results).toMatchObject([{ id: "2" }]);
  }
  const both = { ...body, query_vectors: [1], filter: { year: 1 }, filters: { year: 1 } };
  expect((await service.post("/v1/vectors/query", both)).status).toBe(422);
  expect((await service.post("/v1/vectors/delete", { ...body, filters: {} })).status).toBe(422);
  expect((await service.post("/v1/vectors/delete", { ...body, filter: { year: 1 } })).status).toBe(200);
  const left = await service.post("/v1/vectors/num_vectors", body);
  expect(left.body.result).toBe(1);
  expect((await service.post("/v1/vectors/delete", { ...body, delete_all: true })).status).toBe(200);
  expect((await service.post("/v1/vectors/num_vectors", body)).body.result).toBe(0);
});
