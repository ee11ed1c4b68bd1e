/** Each half of the wire reads values as the other wrote them. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { type ErrorCode, SealdexError } from "../../src/errors.js";
import type { Filter } from "../../src/api/filter/compile.js";
import type { CreateIndexOptions, Item, StoredItem, VectorIndex } from "../../src/api/vector-index.js";
import * as wire from "../../src/client/wire/wire.js";

/** Through the text of JSON, as a request or an answer goes. */
function sent<T>(body: T): T {
  return JSON.parse(JSON.stringify(body)) as T;
}

/** The item as a request has it. */
function sentItem(item: Item): wire.ItemBody {
  const address = { indexName: "a", indexKey: "00".repeat(32) };
  const { json } = wire.upsertForms(address, {}, [wire.encodeItem(item, "items[0]")]);
  return JSON.parse(json.textsOf(0)[0]) as wire.ItemBody;
}

function thrown(work: () => unknown): SealdexError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(SealdexError);
    return error as SealdexError;
  }
  throw new Error("expected an error");
}

/** Own properties in order, so that `__proto__` and `constructor` count like any other. */
function text(value: unknown): string {
  return JSON.stringify(value);
}

const codes: readonly ErrorCode[] = [
  "invalid_request",
  "dimension_mismatch",
  "unauthenticated",
  "not_found",
  "already_exists",
  "wrong_index_key",
  "forbidden",
  "not_supported",
  "corrupt",
  "missing_object",
  "rollback_detected",
  "storage_unavailable",
  "internal",
];
const key = "ab".repeat(32);
const address = { indexName: "articles", indexKey: key };
const float32 = fc.float({ noNaN: true, noDefaultInfinity: true });
const vector = fc.array(float32, { minLength: 1, maxLength: 20 });
const metadata = fc
  .dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);
const hostileMetadata = fc.constantFrom(
  JSON.parse('{"__proto__":{"admin":true},"constructor":1,"toString":null,"a.b":[],"$x":{}}') as Record<
    string,
    unknown
  >,
);
const anyMetadata = fc.oneof({ weight: 9, arbitrary: metadata }, { weight: 1, arbitrary: hostileMetadata });
const count = fc.integer({ min: 0, max: 10_000 });
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

test("an address is the same on the other side, whatever the key's form", () => {
  fc.assert(
    fc.property(fc.string(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (indexName, bytes) => {
      const hex = Buffer.from(bytes).toString("hex");
      expect(wire.decodeAddress(sent(wire.encodeAddress({ indexName, indexKey: bytes })))).toEqual({
        indexName,
        indexKey: hex,
      });
      expect(wire.decodeAddress(sent(wire.encodeAddress({ indexName, indexKey: hex })))).toEqual({
        indexName,
        indexKey: hex,
      });
    }),
  );
});

test("the options of a new index are the same on the other side", () => {
  const config = fc.record({
    type: fc.constantFrom("ivfflat", "ivf", "ivfpq"),
    dimension: optional(fc.integer({ min: 1, max: 8192 })),
    nLists: optional(count),
    precision: optional(fc.constantFrom("float32", "float16", "int8")),
    spilling: optional(fc.boolean()),
    pqDim: count,
    pqBits: count,
  });
  const options = fc.record({
    indexName: fc.string(),
    indexKey: fc.constant(key),
    indexConfig: optional(config),
    metric: optional(fc.constantFrom("euclidean", "cosine", "squared_euclidean")),
    embeddingModel: optional(fc.string()),
  });
  fc.assert(
    fc.property(options, (given) => {
      expect(wire.decodeCreateIndex(sent(wire.encodeCreateIndex(given as CreateIndexOptions)))).toEqual(
        given,
      );
    }),
  );
});

test("the library's defaults of ivfpq are sent, since HTTP has none", () => {
  const body = wire.encodeCreateIndex({ ...address, indexConfig: { type: "ivfpq" } });
  expect(body.index_config).toMatchObject({ pq_dim: 8, pq_bits: 8 });
  for (const [field, config] of [
    ["pq_dim", { type: "ivfpq", pq_bits: 8 }],
    ["pq_bits", { type: "ivfpq", pq_dim: 8, pq_bits: null }],
  ] as const) {
    const { code, message } = thrown(() =>
      wire.decodeCreateIndex({ ...wire.encodeAddress(address), index_config: config }),
    );
    expect(code).toBe("invalid_request");
    expect(message).toContain(`index_config.${field}`);
  }
});

const queryOptions = {
  topK: count,
  nProbes: count,
  greedy: fc.boolean(),
  filter: optional(
    fc.constantFrom<Filter[]>({ year: { $gte: 2000 } }, { $or: [{ a: 1 }, { "b.c": null }] }, {}),
  ),
  include: fc.subarray(["distance", "metadata"] as const),
};

test("a query is the same on the other side: one vector, several, or a text", () => {
  fc.assert(
    fc.property(
      fc.record(queryOptions),
      vector,
      fc.array(vector, { minLength: 1 }),
      fc.string(),
      (...given) => {
        const [options, one, several, queryContents] = given;
        const single = { ...options, queryVector: Float32Array.from(one) };
        expect(wire.decodeQuery(sent(wire.encodeQuery(address, single)))).toEqual(single);
        const batch = { ...options, queryVectors: several.map((numbers) => Float32Array.from(numbers)) };
        expect(wire.decodeQuery(sent(wire.encodeQuery(address, batch)))).toEqual(batch);
        const byText = { ...options, queryContents };
        expect(wire.decodeQuery(sent(wire.encodeQuery(address, byText)))).toEqual(byText);
        const { nProbes: _nProbes, greedy: _greedy, ...others } = byText;
        const declared = { ...others, recall: options.greedy ? "exact" : 0.9 } as const;
        expect(wire.decodeQuery(sent(wire.encodeQuery(address, declared)))).toEqual(declared);
      },
    ),
  );
});

test("the library's defaults of a query are sent, and those of HTTP replace missing fields", () => {
  expect(wire.decodeQuery(sent(wire.encodeQuery(address, { queryVector: [1] })))).toMatchObject({
    topK: 100,
    nProbes: 1,
    greedy: false,
    include: ["distance"],
  });
  const bare = { ...wire.encodeAddress(address), query_vectors: [1], top_k: null, greedy: null };
  expect(wire.decodeQuery(bare)).toEqual({
    queryVector: Float32Array.of(1),
    topK: 100,
    nProbes: 0,
    greedy: false,
    filter: undefined,
    include: ["distance", "metadata"],
  });
});

test("a text beside an empty list of vectors is a text query", () => {
  const body = { ...wire.encodeAddress(address), query_vectors: [], query_contents: "hello" };
  expect(wire.decodeQuery(body)).toMatchObject({ queryContents: "hello" });
  expect(wire.decodeQuery(body)).not.toHaveProperty("queryVectors");
});

const item = fc.record({
  id: fc.string(),
  vector: optional(vector.map((numbers) => Float32Array.from(numbers))),
  contents: optional(fc.string()),
  metadata: optional(anyMetadata),
});

test("items are the same on the other side, floats bit for bit and metadata verbatim", () => {
  fc.assert(
    fc.property(item, (given: Item) => {
      const back = wire.decodeItem(sentItem(given), "items[0]");
      const held = back.metadata as { text: string } | undefined;
      expect({ ...back, metadata: held?.text }).toEqual({
        ...given,
        metadata: text(given.metadata),
      });
      expect(Object.prototype).not.toHaveProperty("admin");
    }),
  );
});

test("a Float32Array and the same numbers in an array are the same vector", () => {
  fc.assert(
    fc.property(vector, (numbers) => {
      const [a, b] = [numbers, Float32Array.from(numbers)].map(
        (given) => wire.decodeItem(sentItem({ id: "a", vector: given }), "").vector,
      );
      expect(a).toEqual(b);
      expect(b).toEqual(Float32Array.from(numbers));
    }),
  );
});

test("stored items and matches are the same on the other side", () => {
  const match = fc.record({
    id: fc.string(),
    distance: optional(fc.double({ noNaN: true, noDefaultInfinity: true })),
  });
  fc.assert(
    fc.property(fc.array(item), fc.array(match), anyMetadata, (items: StoredItem[], matches, value) => {
      const raw = <T extends { metadata?: unknown }>({ metadata: own, ...entry }: T) => ({
        ...entry,
        ...(own !== undefined && { metadataJson: JSON.stringify(own) }),
      });
      const parsed = (texts: Iterable<string>) => JSON.parse([...texts].join("")) as unknown;
      const back = wire.decodeStoredItems(parsed(wire.itemTexts(items.map(raw))));
      const plain = (list: StoredItem[]) =>
        list.map((entry) => ({ ...entry, metadata: text(entry.metadata) }));
      expect(plain(back)).toEqual(plain(items));
      const full = matches.map((entry) => ({ ...entry, metadata: value }));
      const [found] = wire.decodeResults(parsed(wire.matchTexts(full.map(raw))), false);
      // -0 is no distance: JSON says 0.
      expect(text(found)).toBe(text(full));
      expect(wire.decodeResults(parsed(wire.matchTexts([full.map(raw), []])), true)).toHaveLength(2);
    }),
  );
});

test("a description is the same on the other side", () => {
  const description = fc.record(
    {
      indexName: fc.string(),
      type: fc.constantFrom("ivfflat", "ivf"),
      metric: fc.constantFrom("euclidean", "cosine", "squared_euclidean"),
      nLists: count,
      trained: fc.boolean(),
      dimension: fc.integer({ min: 1, max: 8192 }),
      embeddingModel: fc.string(),
      segments: count,
      storedBytes: count,
      reclaimableBytes: count,
      memory: fc.record({
        rssBytes: count,
        kernelBytes: count,
        cacheBytes: count,
        cacheBytesMax: count,
        cacheLookups: count,
        cacheMisses: count,
      }),
      trainingFailure: fc.string(),
      recallCurves: fc.array(
        fc.record({
          topK: count,
          points: fc.array(fc.record({ recall: fc.constantFrom(0.8, 0.999), nProbes: count })),
        }),
      ),
      measuredRecall: fc.array(
        fc.record({
          topK: count,
          queries: count,
          points: fc.array(
            fc.record({
              recall: fc.constantFrom(0.8, 0.999),
              found: fc.constant(0.9),
              low: fc.constant(0.85),
              high: fc.constant(0.93),
            }),
          ),
        }),
      ),
    },
    {
      requiredKeys: [
        "indexName",
        "type",
        "metric",
        "nLists",
        "trained",
        "segments",
        "storedBytes",
        "reclaimableBytes",
        "memory",
      ],
    },
  );
  fc.assert(
    fc.property(description, (given) => {
      expect(wire.decodeDescription(sent(wire.encodeDescription(given)))).toEqual(given);
    }),
  );
  const quantized = { ...fc.sample(description, 1)[0], type: "ivfpq", pqDim: 8, pqBits: 4 } as const;
  expect(wire.decodeDescription(sent(wire.encodeDescription(quantized)))).toEqual(quantized);
  const rounded = {
    ...fc.sample(description, 1)[0],
    type: "ivfflat",
    precision: "int8",
    spilling: false,
  } as const;
  expect(wire.decodeDescription(sent(wire.encodeDescription(rounded)))).toEqual(rounded);
});

test("selections, numbers of lists, names and counts are the same on the other side", () => {
  const selections: Parameters<VectorIndex["delete"]>[0][] = [
    { ids: ["a", "b"] },
    { ids: [] },
    { filter: { a: 1 } },
    { deleteAll: true },
  ];
  for (const selection of selections) {
    expect(wire.decodeSelection(sent(wire.encodeSelection(address, selection)))).toEqual(selection);
  }
  for (const options of [{ nLists: 7 }, {}]) {
    expect(wire.decodeTrain(sent(wire.encodeTrain(address, options)))).toEqual(options);
  }
  expect(wire.decodeNames({ ids: ["b", "a"] }, "ids")).toEqual(["b", "a"]);
  expect(wire.decodeCount({ result: 3 })).toBe(3);
});

test("errors keep code and meaning, under each side's names of fields", () => {
  const statuses = [422, 422, 401, 404, 409, 403, 403, 422, 500, 500, 500, 503, 500];
  for (const [i, code] of codes.entries()) {
    expect(wire.statusOfCode(code)).toBe(statuses[i]);
    const error = new SealdexError(code, "indexConfig.nLists: expected an integer, got none");
    const body = wire.encodeError(error);
    expect(body).toEqual({
      status_code: statuses[i],
      code,
      detail: "index_config.n_lists: expected an integer, got none",
    });
    expect(wire.decodeError(body.status_code, sent(body))).toMatchObject({ code, message: error.message });
  }
});

test("names inside a filter are the caller's and stay as they are", () => {
  const message = "filters.topK.$near: unknown operator";
  expect(wire.encodeError(new SealdexError("invalid_request", message)).detail).toBe(message);
});

test.each([
  [401, "unauthenticated"],
  [403, "forbidden"],
  [404, "not_found"],
  [409, "already_exists"],
  [413, "too_large"],
  [429, "rate_limited"],
  [500, "internal"],
  [502, "storage_unavailable"],
  [301, "internal"],
])("an answer of status %i from another server means %s", (status, code) => {
  for (const body of [
    undefined,
    null,
    "gone",
    { error: "x" },
    { detail: "because" },
    { code: "weird", detail: 1 },
  ]) {
    expect(wire.decodeError(status, body).code).toBe(code);
  }
});

test("the half that writes refuses values that JSON would lose", () => {
  const query = (given: object) => wire.encodeQuery(address, given as { queryVector: number[] });
  const encodeItem = (given: object) => wire.encodeItem(given as Item, "items[4]");
  const cases: [string, () => unknown][] = [
    ["queryVector[1]", () => query({ queryVector: [1, Number.NaN] })],
    ["queryVectors[1][0]", () => query({ queryVectors: [[1], [1e39]] })],
    ["queryVectors", () => query({ queryVectors: "no" })],
    ["topK", () => query({ queryVector: [1], topK: Number.NaN })],
    ["nProbes", () => query({ queryVector: [1], nProbes: Number.POSITIVE_INFINITY })],
    ["filter.tenant", () => query({ queryVector: [1], filters: { tenant: undefined } })],
    ["filter.tenant", () => wire.encodeSelection(address, { filter: { tenant: undefined as never } })],
    ["query", () => query({})],
    ["query", () => query({ queryVector: [1], queryContents: "x" })],
    ["items[4]", () => encodeItem(null as never)],
    ["items[4].vector[0]", () => encodeItem({ id: "a", vector: [undefined] })],
    ["items[4].vector", () => encodeItem({ id: "a", vector: "abc" })],
    ["items[4].metadata", () => encodeItem({ id: "a", metadata: { a: [Number.NaN] } })],
    ["items[4].metadata", () => encodeItem({ id: "a", metadata: { a: [undefined] } })],
    ["items[4].metadata", () => encodeItem({ id: "a", metadata: { a: 1n } })],
    ["index key", () => wire.encodeAddress({ indexName: "a", indexKey: 5 as never })],
    [
      "indexConfig.dimension",
      () => wire.encodeCreateIndex({ ...address, indexConfig: { type: "ivf", dimension: 1.5 } }),
    ],
  ];
  for (const [place, work] of cases) {
    const { code, message } = thrown(work);
    expect(code).toBe("invalid_request");
    expect(message.startsWith(`${place}:`), message).toBe(true);
  }
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  expect(thrown(() => encodeItem({ id: "a", metadata: cycle })).code).toBe("invalid_request");
  expect(thrown(() => query({ queryVector: [] })).code).toBe("dimension_mismatch");
});

test("answers that are no Sealdex service's are an error, not a result", () => {
  for (const json of [
    null,
    5,
    [],
    {},
    { results: {} },
    { results: [{}] },
    { results: [null] },
    { results: [[]] },
  ]) {
    expect(thrown(() => wire.decodeResults(json, false)).code).toBe("internal");
    expect(thrown(() => wire.decodeStoredItems(json)).code).toBe("internal");
    expect(thrown(() => wire.decodeNames(json, "ids")).code).toBe("internal");
    expect(thrown(() => wire.decodeCount(json)).code).toBe("internal");
    expect(thrown(() => wire.decodeDescription(json)).code).toBe("internal");
  }
});
