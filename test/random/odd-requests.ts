/** Bodies that clients should not send, at and beyond every limit. */

import type { Choice } from "./choice.js";

export const routes = [
  ...["create", "describe", "train", "compact", "anchor", "rotate_key", "reencrypt", "delete"].map(
    (verb) => `/v1/indexes/${verb}`,
  ),
  ...["add", "list", "revoke"].map((verb) => `/v1/indexes/wraps/${verb}`),
  ...["query", "upsert", "update", "get", "delete", "list", "list_ids", "num_vectors"].map(
    (verb) => `/v1/vectors/${verb}`,
  ),
];

const fields = [
  "index_name",
  "index_key",
  "index_config",
  "metric",
  "embedding_model",
  "n_lists",
  "query_vectors",
  "query_contents",
  "top_k",
  "n_probes",
  "greedy",
  "filters",
  "filter",
  "include",
  "items",
  "ids",
  "limit",
  "after",
  "delete_all",
  "update_all",
  "metadata",
  "unset",
  "replace",
  "cursor",
  "delete_filter",
  "skip_unchanged",
  "rerank",
  "anchor",
  "new_index_key",
  "name",
  "wrap_key",
  "access",
  "expires_at",
  "__proto__",
  "unknown",
];

/** A body of random fields with random values, some of them right. `address`: of an index that is there. */
export function oddBody(choice: Choice, address: object): object {
  const own = choice.list(choice.below(5), () => [choice.of(fields), oddValue(choice, 0)] as const);
  const right = choice.list(choice.below(3), () => choice.of(rightFields));
  return {
    ...(choice.chance(0.9) && address),
    ...Object.assign({}, ...right),
    ...(choice.chance(0.7) && Object.fromEntries(own)),
  };
}

const rightFields: readonly object[] = [
  { query_vectors: [1, 2, 3] },
  { query_vectors: [[1, 2, 3]] },
  { query_contents: "text" },
  { items: [{ id: "a", vector: [1, 2, 3] }] },
  { ids: ["a", "b"] },
  { filters: { a: { $gt: 1 } } },
  { top_k: 10_000, n_probes: 0 },
  { include: ["metadata"] },
  { name: "reader", wrap_key: "0f".repeat(32), access: "read-only" },
  { index_config: { type: "ivfpq", pq_dim: 3, pq_bits: 1 } },
];

/** Text that may be no JSON at all. */
export function oddText(choice: Choice): string {
  return choice.of([
    "",
    "null",
    "[]",
    "{",
    '{"items":[1,]}',
    '{"items":[,1]}',
    `{"query_vectors":[${"[0],".repeat(choice.below(6000))}0]}`,
    `{"ids":[${"0,".repeat(choice.below(12_000))}0]}`,
    `{"filters":{${'"a":0,'.repeat(choice.below(4000))}"b":0}}`,
    "[".repeat(choice.below(60)),
    `{"items":${"[".repeat(choice.below(40))}`,
    `{"a":"${"\\u0000".repeat(choice.below(9000))}"}`,
    "\ufeff{}",
  ]);
}

const numbers = [
  0,
  -0,
  -1,
  1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e15,
  1e38,
  3.5e38,
  1e308,
  5e-324,
  -1e-45,
  10_000,
  10_001,
];
const texts = [
  "",
  "a",
  "\u0000",
  "\ud800",
  "ü".repeat(300),
  "$where",
  "a.b.0",
  "x".repeat(513),
  "0".repeat(64),
];

function oddValue(choice: Choice, depth: number): unknown {
  const inner = () => oddValue(choice, depth + 1);
  return choice.weighted<unknown>([
    [4, () => choice.of(numbers)],
    [4, () => choice.of(texts)],
    [2, () => choice.of([null, true, false])],
    [depth < 5 ? 2 : 0, () => choice.list(choice.of([0, 1, 2, 3, 20]), inner)],
    [
      depth < 5 ? 3 : 0,
      () => Object.fromEntries(choice.list(choice.below(4), () => [choice.of(keys), inner()])),
    ],
    [1, () => choice.list(choice.of([1000, 1001, 8192, 8193]), () => 1)],
  ]);
}

const keys = [
  "id",
  "vector",
  "contents",
  "metadata",
  "type",
  "dimension",
  "n_lists",
  "pq_dim",
  "pq_bits",
  "a",
  "a.b",
  "$and",
  "$or",
  "$nor",
  "$not",
  "$contains",
  "$regex",
  "$eq",
  "$ne",
  "$gt",
  "$in",
  "$nin",
  "$exists",
  "$where",
  "__proto__",
  "constructor",
  "",
];
