// The mix of requests of the soak: what a service with several tenants is asked for, in shares of a thousand.

import { generateKey } from "sealdex/core";

const d = 64;
const tenants = 8;
/** Half of these ids are stored at any time, or so. */
const ids = 4000;

const pick = (n) => Math.floor(Math.random() * n);
const vector = () => Array.from({ length: d }, () => Math.random() - 0.5);
const item = () => {
  const n = pick(ids);
  return { id: `${n}`, vector: vector(), contents: `text ${n}`, metadata: { n, of: n % 7 } };
};
const items = (count) => Array.from({ length: count }, item);

const addresses = Array.from({ length: tenants }, (_, i) => ({
  index_name: `tenant ${i}`,
  index_key: generateKey(),
}));

const shares = [
  [560, "query", () => ({ query_vectors: vector(), top_k: 10, n_probes: 0 })],
  [100, "query", () => ({ query_vectors: vector(), top_k: 10, filters: { of: pick(7) } })],
  [150, "upsert", () => ({ items: items(1 + pick(10)) })],
  [100, "delete", () => ({ ids: Array.from({ length: 1 + pick(10) }, () => `${pick(ids)}`) })],
  [70, "get", () => ({ ids: [`${pick(ids)}`] })],
  [15, "num_vectors", () => ({})],
];

/** Creates the indexes and fills them. `send(path, body)`. */
export async function fill(send) {
  for (const address of addresses) {
    await send("/v1/indexes/create", address);
    await send("/v1/vectors/upsert", { ...address, items: items(ids / 2) });
    await send("/v1/indexes/train", { ...address, n_lists: 20 });
  }
}

/** One request: `{ path, body }`. */
export function randomRequest() {
  const address = addresses[pick(tenants)];
  let at = pick(1000);
  const [, name, make] = shares.find(([share]) => (at -= share) < 0) ?? shares[0];
  return { path: `/v1/vectors/${name}`, body: { ...address, ...make() } };
}

/** A training or a compaction. */
export function randomRewrite() {
  const address = addresses[pick(tenants)];
  return pick(2) === 0
    ? { path: "/v1/indexes/train", body: { ...address, n_lists: 20 } }
    : { path: "/v1/indexes/compact", body: address };
}

/** A customer who comes and goes: an index that is created, filled, asked and deleted. */
export async function visit(send) {
  const address = { index_name: `visitor ${pick(1e9)}`, index_key: generateKey() };
  await send("/v1/indexes/create", address);
  await send("/v1/vectors/upsert", { ...address, items: items(20) });
  await send("/v1/vectors/query", { ...address, query_vectors: vector(), top_k: 10 });
  await send("/v1/indexes/delete", address);
}
