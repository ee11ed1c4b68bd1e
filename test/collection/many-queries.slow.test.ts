/** Many searches of a collection, each beside one index with the same items: none differs. */

import { expect, test } from "vitest";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { seededRandom } from "../../src/engine/random.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { repeats } from "../tier.js";
import { createTwins, randomItems, randomVector } from "./twins.js";

const count = repeats("SEALDEX_QUERIES", { fast: 200, all: 5000 });

test.each([8, 32])(
  "%i shards, as an index: plain, filtered, in a namespace, by words, both",
  async (shards) => {
    const client = new EmbeddedClient({ indexLocation: { location: "memory" }, automaticTraining: false });
    const { index, collection } = await createTwins(client, shards);
    for (const each of [index, collection]) {
      await each.upsert(randomItems(2500, 1));
      await each.upsert(randomItems(700, 2));
      await each.upsert(randomItems(400, 3, "own"), { namespace: "red" });
    }
    const random = seededRandom(4);
    const words = ["river", "stone", "harbor", "lantern", "violet", "engine"];
    let different = 0;
    for (let i = 0; i < count; i++) {
      const queryVector = randomVector(random);
      const queryText = `${words[i % 6]} ${words[Math.floor(6 * random())]}`;
      const exact = { queryVector, topK: 10, recall: "exact" } as const;
      const filter = { year: 2000 + Math.floor(20 * random()) };
      const queries = [
        (each: VectorIndex) => each.query(exact),
        (each: VectorIndex) => each.query({ ...exact, filter }),
        (each: VectorIndex) => each.query({ ...exact, namespace: "red" }),
        (each: VectorIndex) => each.query({ queryText, topK: 10 }),
        (each: VectorIndex) => each.query({ ...exact, queryText }),
      ];
      const query = queries[i % queries.length];
      const [expected, actual] = await Promise.all([query(index), query(collection)]);
      if (JSON.stringify(expected) !== JSON.stringify(actual)) different++;
    }
    expect(different).toBe(0);
    await client.close();
  },
  1_200_000,
);
