/** A collection answers as one index with the same items does, in every way of reading and after every kind of change. */

import { afterAll, test } from "vitest";
import { Leaf } from "../../src/index/collection/leaf.js";
import { createRouter } from "../../src/index/collection/router.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { changeAll, expectSame, fill } from "./same-results.js";
import { createTwins } from "./twins.js";

const indexLocation = createMemoryStore();
const here = new EmbeddedClient({ indexLocation: { location: "memory" }, automaticTraining: false });
const leafClient = new EmbeddedClient({ indexLocation });
const leaf = new Leaf(leafClient);
const router = createRouter({ indexLocation, automaticTraining: false }, (...search) =>
  leaf.search(...search),
);
const clients = { here: here, "by a leaf": router };

afterAll(async () => {
  await Promise.all([here, router, leafClient].map((client) => client.close()));
});

test.each([
  [1, "here"],
  [8, "here"],
  [32, "here"],
  [8, "by a leaf"],
] as const)(
  "of %i shards that are searched %s: exact searches, words, both, filters, orders, namespaces",
  async (shards, place) => {
    const twins = await createTwins(clients[place], shards);
    await expectSame(twins, 2);
    await fill(twins);
    await expectSame(twins, 24);
    await twins.collection.compact();
    await twins.index.compact();
    await expectSame(twins, 8);
  },
);

test.each(["here", "by a leaf"] as const)("searched %s, after every kind of change", async (place) => {
  const twins = await createTwins(clients[place], 5);
  await fill(twins);
  await changeAll(twins);
  await expectSame(twins, 12);
  await twins.index.delete({ deleteAll: true });
  await twins.collection.delete({ deleteAll: true });
  await expectSame(twins, 4);
});
