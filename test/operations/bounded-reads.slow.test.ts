/** Changes that look at what is stored hold little of it at a time: in a small heap, next to items that would not fit into it. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const begin = `
  import { createClient, generateKey } from "sealdex/core";
  const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  const index = await client.createIndex({ indexName: "a", indexKey: generateKey() });
  const ids = Array.from({ length: 300 }, (_, i) => String(i));
  const fill = async (more) => {
    for (let first = 0; first < ids.length; first += 20) {
      await index.upsert(ids.slice(first, first + 20).map((id) => ({ id, vector: [1], ...more(id) })));
    }
  };`;

test.each([
  [
    "an upsert that leaves out what is unchanged",
    `await fill((id) => ({ contents: id + "x".repeat(2 ** 20 - 10) }));
     const { unchanged } = await index.upsert(ids.map((id) => ({ id, vector: [1] })), { skipUnchanged: true });
     console.log(unchanged);`,
    0,
  ],
  [
    "a delete of ids that match a filter",
    `const a = Array.from({ length: 20_000 }, () => []);
     await fill((id) => ({ metadata: { a, n: Number(id) % 2 } }));
     await index.delete({ ids, filter: { n: 1 } });
     console.log(await index.count());`,
    150,
  ],
])("%s", async (_, work, expected) => {
  const flags = ["--max-old-space-size=128", "--input-type=module", "-e", begin + work];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  expect(Number(stdout)).toBe(expected);
});
