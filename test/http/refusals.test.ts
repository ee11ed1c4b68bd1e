/** Calls that cannot be right are refused over HTTP as by the embedded index, and none of their options is lost on the way. */

import { beforeAll, describe, expect, test } from "vitest";
import { type Client, generateKey, SealdexError, type VectorIndex } from "../../src/core.js";
import { startBoth } from "./both-clients.js";

const { clients } = await startBoth();
const address = { indexName: "refusals", indexKey: generateKey() };
const queryVector = [1, 2];

/** Values without a text in JSON, or with another one. */
const notJson = [null, Number.NaN, Infinity, Symbol("odd"), 1n, () => 1, new Date(0)];

const anywhere: [string, (index: VectorIndex, client: Client) => Promise<unknown>][] = [
  ["a cursor without an order", (index) => index.query({ queryVector, cursor: "x" } as never)],
  ["an order that is a text", (index) => index.listItems({ orderBy: "year" } as never)],
  ["contents that are a boolean", (index) => index.upsert([{ id: "x", contents: true as never }])],
  ["query contents that are a number", (index) => index.query({ queryContents: 5 as never })],
  ["an id that is a date", (index) => index.upsert([{ id: new Date(0) as never, vector: [1, 2] }])],
  ["a filter with a bigint", (index) => index.query({ queryVector, filter: { n: 1n as never } })],
  ["a greedy that is NaN", (index) => index.query({ queryVector, greedy: Number.NaN as never })],
  ["words that are NaN", (index) => index.query({ queryVector, queryText: Number.NaN as never })],
  ["names after a lone surrogate", (_, client) => client.listIndexes({ after: "\ud83d" })],
  [
    "a metric that is a symbol",
    (_, client) => client.createIndex({ ...address, indexName: "other", metric: Symbol("odd") as never }),
  ],
  ["an anchor that is null", (_, client) => client.loadIndex({ ...address, anchor: null as never })],
  ...[null, [], { analyser: {} }, { analyzer: { lang: "german" } }, { k1: -1 }].map(
    (textIndex): (typeof anywhere)[number] => [
      `a text index that is ${JSON.stringify(textIndex)}`,
      (_, client) => client.createIndex({ ...address, indexName: "other", textIndex: textIndex as never }),
    ],
  ),
  ...notJson.flatMap((odd): typeof anywhere => {
    const namespace = odd as never;
    const name = `a namespace that is ${odd === null ? "null" : `${typeof odd} ${String(odd)}`}`;
    return [
      [`${name}, to delete in`, (index) => index.delete({ deleteAll: true }, { namespace })],
      [`${name}, to update in`, (index) => index.update({ ids: ["a"] }, { unset: ["b"] }, { namespace })],
      [`${name}, to upsert into`, (index) => index.upsert([{ id: "b", vector: [1, 2] }], { namespace })],
      [`${name}, to query`, (index) => index.query({ queryVector, namespace })],
      [`${name}, to order`, (index) => index.listItems({ orderBy: { year: "asc" }, namespace })],
      [`${name}, to get from`, (index) => index.get(["a"], { namespace })],
      [`${name}, to list`, (index) => index.listItems({ namespace })],
      [`${name}, to list ids of`, (index) => index.listIds({ namespace })],
      [`${name}, to count`, (index) => index.count({ namespace })],
      [`${name}, to erase`, (index) => index.erase(namespace)],
    ];
  }),
];

describe.each(Object.entries(clients))("%s", (_, client) => {
  let index: VectorIndex;
  beforeAll(async () => {
    index = await client.createIndex({ ...address, textIndex: true });
    await index.upsert([{ id: "a", vector: [1, 2], metadata: { b: 1 } }]);
  });

  test.each(anywhere)("refuses %s", async (_what, call) => {
    const outcome = await call(index, client).catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(SealdexError);
    expect(outcome).toMatchObject({ code: "invalid_request" });
    expect(await index.get(["a", "b"], { include: ["metadata"] })).toEqual([{ id: "a", metadata: { b: 1 } }]);
  });
});
