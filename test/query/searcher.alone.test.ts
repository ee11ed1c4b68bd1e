/** Models in kernel memory: loaded once, pinned while they are used, and counted with all that they take. */

import { expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import type { IndexConfig } from "../../src/engine/config.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import type { Model } from "../../src/engine/model.js";
import { trainModel } from "../../src/engine/training/train.js";
import { Searcher } from "../../src/query/searcher.js";
import { BlockCache } from "../../src/state/cache/block-cache.js";
import { entryBytes, namedKey } from "../../src/state/cache/cache-group.js";
import { IndexCache } from "../../src/state/cache/index-cache.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered, sampleOf } from "../engine/data.js";
import { finish } from "../engine/finish.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, openIndex } from "../protocol/open.js";

const d = 16;
const vectors = rowsOf(clustered(600, d, 12, 3), d);

/** The models of an index of this configuration: trained once, and once more. */
async function modelsOf(config: IndexConfig): Promise<Model[]> {
  const record = fixedRecord();
  const definition = { ...record.definition, config };
  const { index, inner, close } = openIndex({ ...record, definition }, createMemoryStore(), systemClock);
  await inner.log.createFirst();
  await index.upsert(vectors.map((vector, i) => ({ id: `${i}`, vector })));
  const models: Model[] = [];
  for (const nLists of [4, 8]) {
    await index.train({ nLists });
    const { model } = await inner.snapshots.newest();
    if (model !== undefined) models.push(model);
  }
  await close();
  return models;
}

const common = { metric: "euclidean", nLists: 1024 } as const;

test.each<[IndexConfig]>([
  [{ type: "ivfflat", ...common }],
  [{ type: "ivf", ...common }],
  [{ type: "ivfpq", pqDim: 8, pqBits: 4, ...common }],
])("a model counts with its arrays and its kernel memory until it is dropped: %j", async (config) => {
  const models = await modelsOf(config);
  expect(models.length).toBe(2);
  for (const model of models) {
    const { centroids, quantizer: own } = model;
    const arrays = new Set([centroids, own?.references, own?.codebooks?.codewords]);
    const searcher = new Searcher(config, new IndexCache(new BlockCache(10_000_000)));
    const before = allocatedBytes();
    const loaded = await searcher.withTrained(model, (trained) => {
      expect(searcher.pinModel(model)).toBe(trained);
      searcher.unpinModel(model);
      searcher.dropModel(model);
      // In use: it goes when it is not any more.
      expect(searcher.pinModel(model)).toBe(trained);
      searcher.unpinModel(model);
      return trained;
    });
    expect(loaded.model).toBe(model);
    expect(allocatedBytes()).toBe(before);
    expect(searcher.memory().cacheBytes).toBe(0);
    const again = new Searcher(config, new IndexCache(new BlockCache(10_000_000)));
    const kernelBytes = await again.withTrained(
      model,
      ({ quantizer, rowQuantizer }) => quantizer.bytes + (rowQuantizer?.bytes ?? 0),
    );
    const heap = [...arrays].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
    expect(again.memory().cacheBytes).toBe(entryBytes + heap + kernelBytes);
    again.dropModel(model);
    expect(again.memory().cacheBytes).toBe(0);
    expect(allocatedBytes()).toBe(before);
  }
});

test("what a query caches does not evict the model that it is searched by", async () => {
  const model = finish(trainModel(sampleOf(clustered(600, d, 10, 1), d), 12, 1));
  const cacheBytesMax = 2 ** 20;
  const cache = new IndexCache(new BlockCache(cacheBytesMax));
  const searcher = new Searcher({ type: "ivfflat", metric: "euclidean", nLists: 12 }, cache);
  const before = allocatedBytes();
  await searcher.withTrained(model, () => undefined);
  const tables = cache.groupOf({});
  /** Kernel memory held once a table is cached that takes all of the cache. */
  const heldAfter = () => {
    tables.put(namedKey("table"), { bytes: cacheBytesMax });
    return allocatedBytes() - before;
  };
  const held = allocatedBytes() - before;
  expect(held).toBeGreaterThan(0);
  expect(searcher.pinModel(model)).not.toBeInstanceOf(Promise);
  expect(heldAfter()).toBe(held);
  searcher.unpinModel(model);
  // Nothing is left that uses it.
  heldAfter();
  expect(allocatedBytes()).toBe(before);
});
