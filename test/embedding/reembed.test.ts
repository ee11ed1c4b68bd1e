/** Another model for an index: everything is there under vectors of the other model, also after an interruption. */

import { expect, test } from "vitest";
import { createClient, generateKey, reembed } from "../../src/core.js";

const client = createClient({ indexLocation: { location: "memory" } });
const newIndex = (indexName: string, embeddingModel: string) =>
  client.createIndex({ indexName, indexKey: generateKey(), embeddingModel, metric: "cosine" });

test("texts and metadata move, the vectors are the other model's, and an interrupted move goes on", async () => {
  const from = await newIndex("old", "sealdex/lexical-64");
  const to = await newIndex("new", "default");
  const items = Array.from({ length: 1200 }, (_, i) => ({
    id: `item-${i}`,
    contents: i === 700 ? "Keys are rotated every year." : `text number ${i}`,
    metadata: { i },
  }));
  await from.upsert(items);

  const controller = new AbortController();
  const stop = () => controller.abort(new Error("enough"));
  const first = reembed({ from, to, signal: controller.signal, onProgress: stop });
  await expect(first).rejects.toThrow("enough");
  expect(await to.count()).toBe(500);

  const seen: number[] = [];
  expect(await reembed({ from, to, onProgress: ({ done }) => seen.push(done) })).toBe(700);
  expect(seen).toEqual([500, 1000, 1200]);
  expect(await to.count()).toBe(1200);
  const include = ["contents", "metadata"] as const;
  const [found] = await to.query({ queryContents: "How often are passwords changed?", topK: 1, include });
  expect(found).toEqual({ id: "item-700", contents: "Keys are rotated every year.", metadata: { i: 700 } });
  expect((await from.describe()).embeddingModel).toBe("sealdex/lexical-64");
  expect(await reembed({ from, to })).toBe(0);
});

test("an item without contents keeps its vector, if the dimension allows it", async () => {
  const from = await newIndex("with-bare", "sealdex/lexical-64");
  const vector = Array.from({ length: 64 }, (_, i) => (i === 3 ? 1 : 0));
  await from.upsert([
    { id: "bare", vector },
    { id: "text", contents: "text" },
  ]);
  const same = await newIndex("same", "sealdex/lexical-64");
  expect(await reembed({ from, to: same })).toBe(2);
  expect((await same.get(["bare"]))[0].vector).toEqual(Float32Array.from(vector));
  await expect(reembed({ from, to: await newIndex("wider", "default") })).rejects.toThrow(
    /expected 1024 numbers/,
  );
});

test("items stay in their namespaces, and keep the moment when they expire", async () => {
  const from = await newIndex("in-namespaces", "sealdex/lexical-64");
  const to = await newIndex("in-namespaces-2", "sealdex/lexical-64");
  const expiresAt = new Date(4_000_000_000_000);
  const vector = Array.from({ length: 64 }, (_, i) => i);
  for (const namespace of ["ann", "bob", undefined]) {
    const contents = `of ${namespace}`;
    await from.upsert(
      [
        { id: "same", contents, expiresAt },
        { id: "bare", vector },
      ],
      { namespace },
    );
  }
  await to.upsert([{ id: "same", contents: "there before" }], { namespace: "bob" });
  expect(await reembed({ from, to })).toBe(5);
  expect(await to.namespaces.list()).toEqual(["ann", "bob"]);
  const include = ["contents", "metadata"] as const;
  expect(await to.get(["same", "bare"], { include, namespace: "ann" })).toEqual([
    { id: "same", namespace: "ann", contents: "of ann", metadata: {}, expiresAt },
    { id: "bare", namespace: "ann", metadata: {} },
  ]);
  const [kept] = await to.get(["same"], { include: ["contents"], namespace: "bob" });
  expect(kept.contents).toBe("there before");
  expect(await to.count()).toBe(6);
});
