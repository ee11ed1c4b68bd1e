// Clustered random vectors, and an index of them.

import { createClient, generateKey } from "sealdex/core";

const clusters = 500;
const batch = 5000;
const queries = 200;

let state = 1;
function random() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32 - 0.5;
}

const centers = [];
function vector(d) {
  while (centers.length < clusters) centers.push(Array.from({ length: d }, random));
  const center = centers[Math.floor((random() + 0.5) * clusters)];
  return center.map((x) => Math.fround(x + 0.5 * random()));
}

export function queryVectors(d) {
  return Array.from({ length: queries }, () => vector(d));
}

export async function createIndex(location, count, d) {
  const address = { index_name: "load", index_key: generateKey() };
  const client = createClient({ indexLocation: location, automaticTraining: false });
  const index = await client.createIndex({ indexName: address.index_name, indexKey: address.index_key });
  for (let from = 0; from < count; from += batch) {
    const items = Array.from({ length: Math.min(batch, count - from) }, (_, i) => ({
      id: `${from + i}`,
      vector: vector(d),
    }));
    await index.upsert(items);
  }
  await index.train();
  return { address, client, index };
}
