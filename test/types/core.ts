/** What must compile and what must not, of the library without LangChain; against the built package, never run. */

import {
  type BatchQuery,
  copyIndex,
  createClient,
  type Filter,
  generateKey,
  type IndexConfigInput,
  type Match,
  type Metadata,
  type QueryProfile,
  type SingleQuery,
  type StorageLocation,
  type StoredItem,
  type VectorIndex,
} from "sealdex/core";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function same<A, B>(...proof: Equal<A, B> extends true ? [] : [never]): void;

interface Film {
  title: string;
  year?: number;
  cast: { name: string }[];
}
interface FilmFilter {
  year: { $gte: number };
  genre?: string;
}
declare const film: Film;
declare const filmFilter: FilmFilter;
declare const either: SingleQuery | BatchQuery;
declare const someFields: ("distance" | "contents")[];
declare const fieldsOrProfile: ("distance" | "profile")[];
const queryVector = [1, 2];

export async function matches(index: VectorIndex): Promise<void> {
  const [plain] = await index.query({ queryVector });
  same<typeof plain.distance, number>();
  // @ts-expect-error metadata is not included by default
  void plain.metadata;

  const [full] = await index.query({ queryVector, include: ["metadata", "contents", "vector"] });
  same<typeof full.metadata, Metadata>();
  same<typeof full.vector, Float32Array>();
  same<typeof full.contents, string | undefined>();
  // @ts-expect-error distance is not included
  void full.distance;

  const [bare] = await index.query({ queryContents: "a", include: [] });
  same<keyof typeof bare, "id" | "namespace">();
  const [[batched]] = await index.query({ queryVectors: [queryVector], include: ["distance", "decoded"] });
  same<typeof batched.decoded, Float32Array>();
  const [open] = await index.query({ queryVector, include: someFields });
  same<typeof open.distance, number | undefined>();
  const found = await index.query(either);
  same<typeof found, Match[] | Match[][]>();
  const wide: Match[] = await index.query({ queryVector });
  const request: SingleQuery = { queryVector };
  const ofRequest: Match[] = await index.query(request);

  const profiled = await index.query({ queryVector, include: ["metadata", "profile"] });
  same<typeof profiled.profile, QueryProfile>();
  same<(typeof profiled.matches)[0]["metadata"], Metadata>();
  // @ts-expect-error distance is not included
  void profiled.matches[0].distance;
  const { matches: alone } = await index.query({ queryContents: "a", include: ["profile"] });
  same<keyof (typeof alone)[0], "id" | "namespace">();
  const { matches: lists } = await index.query({
    queryVectors: [queryVector],
    include: ["distance", "profile"],
  });
  same<(typeof lists)[0][0]["distance"], number>();
  const { matches: byWords } = await index.query({ queryText: "a", include: ["highlights", "profile"] });
  same<(typeof byWords)[0]["score"], number>();
  const { matches: ranked } = await index.query({
    queryContents: "a",
    rerank: "model",
    include: ["contents", "profile"],
  });
  same<(typeof ranked)[0]["score"], number>();
  const sometimes = await index.query({ queryVector, include: fieldsOrProfile });
  if ("profile" in sometimes) same<typeof sometimes.profile, QueryProfile>();
  else same<(typeof sometimes)[0]["distance"], number | undefined>();
  // @ts-expect-error scores are of queries by words
  await index.query({ queryVector, include: ["scores", "profile"] });

  const items: StoredItem[] = await index.get(["a"]);
  same<(typeof items)[0]["vector"], Float32Array | undefined>();
  const [item] = await index.get(["a"], { include: ["vector"] });
  same<typeof item.vector, Float32Array>();
  // @ts-expect-error contents are not included
  void item.contents;
  void [wide, ofRequest];

  // @ts-expect-error distance is of matches
  await index.get(["a"], { include: ["distance"] });
  // @ts-expect-error there is no such field
  await index.query({ queryVector, include: ["score"] });
  // @ts-expect-error one of the two
  await index.query({ queryVector, queryContents: "a" });
  // @ts-expect-error one of the two
  await index.query({ queryVector, queryVectors: [queryVector] });
  // @ts-expect-error something to search for
  await index.query({ topK: 3 });
}

export async function listings(index: VectorIndex, signal: AbortSignal): Promise<void> {
  const { items, cursor } = await index.listItems({
    filter: filmFilter,
    include: ["vector"],
    limit: 5,
    signal,
  });
  same<(typeof items)[0]["vector"], Float32Array>();
  same<typeof cursor, string | undefined>();
  await index.listItems({ cursor });
  for await (const item of index.items({ filter: filmFilter, include: ["metadata"], pageSize: 5, signal })) {
    same<typeof item.metadata, Metadata>();
    // @ts-expect-error contents are not included
    void item.contents;
  }
  // @ts-expect-error the name is pageSize
  index.items({ limit: 5 });
  // @ts-expect-error the name is limit
  await index.listItems({ pageSize: 5 });
  // @ts-expect-error distance is of matches
  await index.listItems({ include: ["distance"] });
  // @ts-expect-error the name is filter
  await index.count({ where: { year: 1 } });
}

export async function changes(index: VectorIndex, signal: AbortSignal): Promise<void> {
  const { stored, unchanged, deleted } = await index.upsert([], {
    deleteFilter: filmFilter,
    skipUnchanged: true,
    signal,
  });
  const { matched, updated } = await index.update({ filter: filmFilter }, { metadata: film }, { signal });
  const counts: number[] = [stored, unchanged, deleted, matched, updated];
  void counts;
  await index.update({ ids: ["a"] }, { unset: ["year"] });
  await index.update({ updateAll: true }, { metadata: { a: 1 }, replace: true });
  // @ts-expect-error one of the two
  await index.update({ ids: ["a"], filter: {} }, { unset: ["a"] });
  // @ts-expect-error the name is metadata
  await index.update({ ids: ["a"] }, { set: { a: 1 } });
  // @ts-expect-error the name is deleteFilter
  await index.upsert([], { filter: { a: 1 } });
}

export async function options(index: VectorIndex, signal: AbortSignal): Promise<void> {
  const client = createClient({ indexLocation: { location: "memory" } });
  const address = { indexName: "a", indexKey: generateKey() };
  await client.createIndex({ ...address, metric: "cosine", embeddingModel: "default", signal });
  await index.query({ queryVector, topK: 1, nProbes: 1, greedy: true, filter: {}, include: [], signal });
  await index.query({ queryVector, filters: { year: 1 } });
  await index.listIds({ limit: 1, after: "a", filter: filmFilter, signal });
  await index.count({ filter: filmFilter, signal });
  await index.train({ nLists: 1, queries: [queryVector], onProgress: ({ done }) => done, signal });
  await index.rotateKey(generateKey(), { signal });
  await Promise.all([index.count({ signal }), index.describe({ signal }), index.compact({ signal })]);

  // @ts-expect-error the name is topK
  await index.query({ queryVector, k: 1 });
  // @ts-expect-error the name is filter
  await index.query({ queryVector, where: { year: 1 } });
  // @ts-expect-error the name is nLists
  await index.train({ lists: 1 });
  // @ts-expect-error the name is limit
  await index.listIds({ count: 1 });
  // @ts-expect-error the name is include
  await index.get(["a"], { fields: ["vector"] });
  // @ts-expect-error a signal is all that it takes
  await index.compact({ full: true });
  // @ts-expect-error a signal is all that it takes
  await index.describe({ verbose: true });
  // @ts-expect-error the name is contents
  await index.upsert([{ id: "a", vector: [1], text: "a" }]);
  // @ts-expect-error the name is signal
  await index.upsert([], { abort: signal });
  // @ts-expect-error a client of locations has no API key
  createClient({ indexLocation: { location: "memory" }, apiKey: "a" });
  // @ts-expect-error the name is cacheBytesMax
  createClient({ indexLocation: { location: "memory" }, cacheBytes: 1 });
  // @ts-expect-error the name is timeoutMs
  createClient({ baseUrl: "http://a", timeout: 1 });
}

export async function metadata(index: VectorIndex): Promise<void> {
  await index.upsert([{ id: "a", vector: [1], metadata: film }]);
  await index.upsert([{ id: "a", vector: [1], metadata: { year: 1, nested: { a: [null] } } }]);
  await index.query({ queryVector, filter: filmFilter });
  const filters: Filter[] = [filmFilter, { $and: [filmFilter, { year: { $exists: true } }] }, {}];
  await index.delete({ filter: filmFilter });
  // @ts-expect-error an array is no object of values
  await index.upsert([{ id: "a", vector: [1], metadata: ["a"] }]);
  // @ts-expect-error nor is a date
  await index.upsert([{ id: "a", vector: [1], metadata: new Date() }]);
  // @ts-expect-error nor is a map
  await index.upsert([{ id: "a", vector: [1], metadata: new Map([["a", 1]]) }]);
  // @ts-expect-error $regex is not an operator
  filters.push({ year: { $regex: "2" } });
  // @ts-expect-error $gte belongs to a field
  filters.push({ $gte: 2000 });
  // @ts-expect-error $or takes an array
  filters.push({ $or: { year: 1 } });
  // @ts-expect-error a filter is no array
  filters.push([{ year: 1 }]);
}

type Selection = Parameters<VectorIndex["delete"]>[0];
export const selections: Selection[] = [{ ids: ["a"] }, { filter: { year: 1 } }, { deleteAll: true }];
selections.push({ ids: ["a"], filter: { year: 1 } });
// @ts-expect-error one of the two
selections.push({ ids: ["a"], deleteAll: true });
// @ts-expect-error false deletes nothing
selections.push({ deleteAll: false });
// @ts-expect-error the name is filter
selections.push({ filters: { year: 1 } });

const unset: string | undefined = process.env.REDIS_URL;
const bucket = { bucket: "b", accessKey: unset, secretKey: unset };
export const locations: StorageLocation[] = [
  { location: "memory" },
  { location: "local", path: "./data" },
  { location: "redis", connectionString: unset, path: "a", allowEviction: true },
  { location: "postgres", connectionString: unset, tableName: "t" },
  { location: "s3", bucket: "b" },
  { location: "s3", ...bucket, region: unset, endpoint: unset },
  { location: "gcs", ...bucket },
];
// @ts-expect-error a folder needs a path
locations.push({ location: "local" });
// @ts-expect-error memory has no bucket
locations.push({ location: "memory", bucket: "b" });
// @ts-expect-error a server needs an address
locations.push({ location: "redis" });
// @ts-expect-error tables are of postgres
locations.push({ location: "redis", connectionString: "redis://h", tableName: "t" });
// @ts-expect-error a bucket needs a name
locations.push({ location: "s3" });
// @ts-expect-error Google's needs keys
locations.push({ location: "gcs", bucket: "b" });

export const configs: IndexConfigInput[] = [
  { type: "ivfflat", dimension: 3, nLists: 4 },
  { type: "ivfflat", precision: "int8", spilling: false },
  { type: "ivfpq", pqDim: 8, pqBits: 8 },
];
// @ts-expect-error only ivfflat has a precision
configs.push({ type: "ivf", precision: "float16" });
// @ts-expect-error only ivfflat has spilling
configs.push({ type: "ivfpq", spilling: false });
// @ts-expect-error no such precision
configs.push({ type: "ivfflat", precision: "int4" });
// @ts-expect-error only ivfpq has pqDim
configs.push({ type: "ivfflat", pqDim: 8 });
// @ts-expect-error only ivfpq has pqBits
configs.push({ type: "ivf", pqBits: 8 });

export async function places(): Promise<void> {
  const address = { indexName: "a", indexKey: generateKey() };
  const indexLocation = { location: "memory" } as const;
  await using local = createClient({ indexLocation });
  await using remote = createClient({ baseUrl: "http://127.0.0.1:8000", apiKey: process.env.API_KEY });
  same<typeof local.kind, "embedded">();
  await copyIndex({ ...address, from: local, to: { indexLocation } });
  // @ts-expect-error a service's storage cannot be copied from here
  await copyIndex({ ...address, from: remote, to: { indexLocation } });
}
