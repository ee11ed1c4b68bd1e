/** Metadata that JSON would change are refused, by the library and by its HTTP client, and filters refuse the same. */

import { beforeAll, describe, expect, test } from "vitest";
import { generateKey, type VectorIndex } from "../../src/core.js";
import { startBoth } from "../http/both-clients.js";
import { refusal } from "../outcome.js";

const { clients } = await startBoth();

class Point {
  x = 1;
}
const changed: Record<string, unknown> = {
  "a Date": new Date(0),
  "an invalid Date": new Date(Number.NaN),
  "a Map": new Map([["a", 1]]),
  "a Set": new Set([1]),
  "an instance of a class": new Point(),
  "a typed array": Float32Array.of(1),
  "a Buffer": Buffer.from("a"),
  "a regular expression": /a/,
  "an Error": new Error("a"),
  "a boxed number": Object(1),
  "an object with toJSON": { toJSON: () => ({ a: 1 }) },
};

describe.each(Object.keys(clients))("%s", (where) => {
  let index: VectorIndex;
  beforeAll(async () => {
    index = await clients[where].createIndex({ indexName: "metadata", indexKey: generateKey() });
    await index.upsert([{ id: "kept", vector: [1] }]);
  });

  test.each(Object.keys(changed))(
    "%s is refused wherever it stands, and named by its place",
    async (name) => {
      const value = changed[name];
      for (const metadata of [{ a: value }, { a: [value] }, { a: { b: value } }, value as object]) {
        const attempt = index.upsert([
          { id: "good", vector: [1] },
          { id: "bad", vector: [1], metadata: metadata as never },
        ]);
        await expect(attempt).rejects.toMatchObject(
          refusal("invalid_request", /^items\[1\]\.metadata: expected/),
        );
      }
      const query = index.query({ queryVector: [1], filter: { a: value as never } });
      await expect(query).rejects.toMatchObject(refusal("invalid_request", /^filter/));
      expect(await index.listIds()).toEqual(["kept"]);
    },
  );

  test("values that JSON preserves are stored unchanged", async () => {
    const metadata = {
      text: "a\u2028\ud83d\ude00",
      list: [1, "a", null, [true]],
      nested: Object.assign(Object.create(null) as object, { a: { b: 1e300 } }),
      toJSON: "a key like any other",
      left: undefined,
    };
    await index.upsert([{ id: "plain", vector: [1], metadata }]);
    const [item] = await index.get(["plain"], { include: ["metadata"] });
    const { left: _, ...stored } = metadata;
    expect(item.metadata).toEqual({ ...stored, nested: { a: { b: 1e300 } } });
    await index.delete({ ids: ["plain"] });
  });
});
