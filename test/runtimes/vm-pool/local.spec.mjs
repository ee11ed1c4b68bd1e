/** Run by test/behavior/other-realms.slow.test.ts in a pool of Vitest that gives each test a realm of its own. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, generateKey } from "sealdex/core";
import { expect, test } from "vitest";

test("a local store", async () => {
  const path = await mkdtemp(join(tmpdir(), "sealdex-pool-"));
  const error = await readFile(join(path, "none")).catch((cause) => cause);
  expect(error instanceof Error, "errors of Node.js are of another realm").toBe(false);
  const client = createClient({ indexLocation: { location: "local", path } });
  const index = await client.createIndex({ indexName: "a", indexKey: generateKey() });
  await index.upsert([{ id: "a", vector: [1, 2], expiresAt: new Date(Date.now() + 1e6) }]);
  expect(await index.listIds()).toEqual(["a"]);
  await client.close();
  await rm(path, { recursive: true });
});
