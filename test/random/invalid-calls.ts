/** Calls that no index answers. */

import type { Item, VectorIndex } from "../../src/core.js";
import type { Choice } from "./choice.js";

/** A call with something wrong in it. `vector`: one that the index takes; `items`: makes some that are valid. */
export function invalidCall(
  choice: Choice,
  vector: readonly number[],
  items: () => readonly Item[],
): (index: VectorIndex) => Promise<unknown> {
  const odd = choice.of<unknown>([
    null,
    undefined,
    true,
    Number.NaN,
    -1,
    0.5,
    2 ** 60,
    "text",
    "",
    [],
    {},
    Symbol("odd"),
    1n,
    new Date(0),
    () => 1,
    new Proxy({}, {}),
  ]) as never;
  const item = { id: "x", vector };
  return choice.of<(index: VectorIndex) => Promise<unknown>>([
    (index) => index.upsert([...items(), { ...item, id: choice.of(["", "x".repeat(513), "\ud83d"]) }]),
    (index) => index.upsert([...items(), { ...item, vector: [...vector, 1] }, { ...item, id: "y" }]),
    (index) => index.upsert([{ ...item, vector: [...vector.slice(1), choice.of([NaN, Infinity, 1e39])] }]),
    (index) => index.upsert([{ ...item, vector: [] }]),
    (index) => index.upsert([{ ...item, vector: choice.list(8193, () => 0) }]),
    (index) => index.upsert([{ ...item, metadata: { a: "x".repeat(65_529) } }]),
    (index) =>
      index.upsert([{ ...item, metadata: { a: choice.of<unknown>([NaN, 1n, [undefined], Symbol("s")]) } }]),
    (index) => index.upsert([{ ...item, contents: "x".repeat(2 ** 20 + 1) }]),
    (index) => index.upsert([{ ...item, odd: 1 } as never]),
    (index) => index.upsert([item, odd, item]),
    (index) => index.upsert(choice.of<never>([null as never, {} as never, "x" as never])),
    (index) => index.query({ queryVector: vector, topK: choice.of([-1, 2 ** 53, 1.5, NaN, "1" as never]) }),
    (index) => index.query({ queryVector: vector, nProbes: choice.of([-1, 0.1, Infinity]) }),
    (index) => index.query({ queryVector: vector, k: 1 } as never),
    (index) => index.query({ queryVector: vector, include: ["text"] as never }),
    (index) =>
      index.query({
        queryVector: vector,
        filter: choice.of<never>([[] as never, "x" as never, { a: { $x: 1 } } as never]),
      }),
    (index) => index.query({ queryVector: vector, filter: { a: 1 }, filters: { a: 1 } } as never),
    (index) => index.query({ queryVector: [...vector.slice(1), NaN] }),
    (index) => index.query({ queryVectors: [vector, odd] }),
    (index) => index.query({ queryVectors: choice.list(1001, () => [1]) }),
    (index) => index.query({ queryVector: vector, queryVectors: [vector] } as never),
    (index) => index.query({ queryContents: "no model" }),
    (index) => index.query({} as never),
    (index) =>
      index.get(choice.of<never>([null as never, [""] as never, [1] as never, ["x".repeat(513)] as never])),
    (index) => index.get(["a"], { include: ["distance"] as never }),
    (index) =>
      index.delete(
        choice.of<never>([{} as never, { ids: ["a"], deleteAll: true } as never, { filter: {} } as never]),
      ),
    (index) => index.delete({ ids: choice.of<never>([[1] as never, "a" as never, [, "a"] as never]) }), // oxlint-disable-line no-sparse-arrays
    (index) => index.listIds({ limit: choice.of([-1, 0.5, NaN]) }),
    (index) => index.listIds({ after: "" }),
    (index) => index.train({ nLists: choice.of([0, -1, 65_537, 1.5, NaN]) }),
    (index) => index.count({ signal: "now" as never }),
    (index) => index.count({ filters: {} } as never),
    (index) => index.count({ filter: { a: { $x: 1 } } as never }),
    (index) => index.listItems({ limit: choice.of([-1, 0.5, NaN]) }),
    (index) => index.listItems({ cursor: choice.of(["", "x", "\ud83d"]) }),
  ]);
}
