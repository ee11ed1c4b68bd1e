/** A program whose declarations name all that calls return; against the built package, never run. */

import {
  checkLocations,
  collectGarbage,
  copyIndex,
  createClient,
  exportItems,
  fileKey,
  importItems,
  ingest,
  openLocation,
  reembed,
  vaultKey,
  type VectorIndex,
  withRetries,
} from "sealdex/core";

const location = { location: "memory" } as const;

export const client = createClient({ indexLocation: location });
export const remote = createClient({ baseUrl: "http://localhost:8000", apiKey: "a" });
export const keys = [fileKey("./a.key", { create: true }), vaultKey({ address: "a", key: "b", token: "c" })];
export const storage = openLocation(location);
export const retried = withRetries(storage);
export const key = new Uint8Array(32);
export const create = () => client.createIndex({ indexName: "a", indexKey: key });
export const load = () => remote.loadIndex({ indexName: "a", indexKey: key });

export const plain = (index: VectorIndex) => index.query({ queryVector: [1], include: ["metadata"] });
export const several = (index: VectorIndex) => index.query({ queryVectors: [[1]] });
export const ranked = (index: VectorIndex) => index.query({ queryContents: "a", rerank: "default" });
export const words = (index: VectorIndex) =>
  index.query({ queryText: "a", include: ["highlights", "scores", "contents"] });
export const page = (index: VectorIndex) => index.listItems({ include: ["contents"] });
export const some = (index: VectorIndex) => index.get(["a"], { include: ["vector"] });
export const described = (index: VectorIndex) => index.describe();
export const memory = async (index: VectorIndex) => (await index.describe()).memory;
export const trained = (index: VectorIndex) => index.train();
export const stored = (index: VectorIndex) => index.upsert([{ id: "a" }]);
export const changed = (index: VectorIndex) => index.update({ ids: ["a"] }, { metadata: {} });
export const erased = (index: VectorIndex) => index.erase("a");
export const wraps = (index: VectorIndex) => index.wraps;
export const listed = (index: VectorIndex) => index.wraps.list();

export const exported = (from: VectorIndex) => exportItems({ from });
export const imported = (to: VectorIndex) => importItems({ to, lines: [] });
export const ingested = (to: VectorIndex) => ingest({ to, items: [] });
export const moved = (from: VectorIndex, to: VectorIndex) => reembed({ from, to });
export const copied = copyIndex;
export const checked = checkLocations;
export const collected = () => collectGarbage({ indexLocation: location });
