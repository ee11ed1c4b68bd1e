/** The check at the end of a migration, on an index that is not as the source. */

import { createClient, generateKey } from "sealdex/core";
import { expect, test } from "vitest";
import { check } from "../src/check.js";
import { memorySource } from "../src/sources/memory.js";
import { vectorOf, Workspace } from "./run-command.js";

const items = Array.from({ length: 60 }, (_, i) => ({
  id: `i${i}`,
  vector: vectorOf(i, 8),
  contents: `text ${i}`,
  metadata: { i },
}));

/** Checks an index that had these items before it was changed. */
async function checked(
  metric: "cosine" | "euclidean",
  changes: readonly object[],
  deleted: readonly string[],
) {
  const workspace = await Workspace.create();
  const old = items.map(({ id, vector, contents, metadata }) => {
    return { id, embedding: vector, content: contents, metadata };
  });
  await workspace.writeJson("memory.json", old);
  await using client = createClient({ indexLocation: { location: "memory" } });
  const index = await client.createIndex({ indexName: "notes", indexKey: generateKey(), metric });
  await index.upsert(items);
  await index.upsert(changes.map((change, i) => ({ ...items[i], ...change })));
  await index.delete({ ids: deleted });
  const source = memorySource(workspace.path("memory.json"));
  return await check({ source, index, namespace: undefined, onProgress: () => undefined });
}

test.each(["cosine", "euclidean"] as const)("an equal index passes, %s", async (metric) => {
  const result = await checked(metric, [], []);
  expect(result).toMatchObject({ rows: 60, ids: 60, items: 60, missing: 0, compared: 60, different: [] });
  expect(result.recall).toBe(1);
});

test("missing items are counted, and named", async () => {
  const result = await checked("cosine", [], ["i3", "i10", "i59"]);
  expect(result).toMatchObject({ missing: 3, missingIds: ["i3", "i10", "i59"], compared: 57, different: [] });
  expect(result.recall).toBeUndefined();
});

test("a changed vector, text or field of the metadata is named", async () => {
  const vector = [...items[0].vector.slice(1), 0.5];
  const changes = [{ vector }, { contents: "other" }, { metadata: { i: "2" } }, { contents: undefined }];
  const { different, missing, recall } = await checked("cosine", changes, []);
  expect(different.toSorted()).toEqual(["i0", "i1", "i2", "i3"]);
  expect(missing).toBe(0);
  expect(recall).toBeLessThan(1);
});

test("items that the source does not have are no failure, and leave recall unmeasured", async () => {
  const result = await checked("cosine", [{ id: "another" }], []);
  expect(result).toMatchObject({ items: 61, ids: 60, missing: 0, compared: 60, different: [] });
  expect(result.recall).toBeUndefined();
});

test("rows that a later one with their id replaced leave recall unmeasured, since the index has not their vectors", async () => {
  const workspace = await Workspace.create();
  const rows = [0, 1].map((i) => ({ id: "same", embedding: vectorOf(i, 8), content: "text", metadata: {} }));
  await workspace.writeJson("memory.json", rows);
  const { code, stdout } = await workspace.run("memory:memory.json");
  expect(stdout).toContain("1 row had the id of another row; the last of each id counts.");
  expect(stdout).toContain("Recall was not measured");
  expect(code).toBe(0);
});
