/** A model that a query uses stays in kernel memory until the query is done with it. */

import { expect, test } from "vitest";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { trainModel } from "../../src/engine/train.js";
import { Searcher } from "../../src/search/searcher.js";
import { BlockCache } from "../../src/segment/block-cache.js";
import { namedKey } from "../../src/segment/cache-group.js";
import { IndexCache } from "../../src/segment/index-cache.js";
import { clustered, sampleOf } from "../engine/data.js";
import { finish } from "../engine/finish.js";

test("what a query caches does not evict the model that it is searched by", async () => {
  const d = 16;
  const model = finish(trainModel(sampleOf(clustered(600, d, 10, 1), d), 12, 1));
  const cacheBytesMax = 2 ** 20;
  const cache = new IndexCache(new BlockCache(cacheBytesMax));
  const searcher = new Searcher({ type: "ivfflat", metric: "euclidean", nLists: 12 }, cache);
  expect(searcher.withOpened(model, () => "opened")).toBeUndefined();
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
  expect(searcher.withOpened(model, heldAfter)).toBe(held);
  // Nothing is left that uses it.
  heldAfter();
  expect(searcher.withOpened(model, () => "opened")).toBeUndefined();
  expect(allocatedBytes()).toBe(before);
});
