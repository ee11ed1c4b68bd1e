import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { cases } from "../tier.js";
import { indexBehaviour } from "./behavior.js";

async function inMemory() {
  const client = createClient({ indexLocation: { location: "memory" } });
  return { client, close: () => client.close() };
}

async function onLocalDisk() {
  const folder = await mkdtemp(join(tmpdir(), "sealdex-"));
  const client = createClient({
    indexLocation: { location: "local", path: join(folder, "index") },
    configLocation: { location: "local", path: join(folder, "config") },
  });
  return {
    client,
    close: async () => {
      await client.close();
      await rm(folder, { recursive: true });
    },
  };
}

const local = { title: "on local disk, configuration apart", open: onLocalDisk };
const memory = { title: "in memory", open: inMemory };
for (const { title, open } of cases({ fast: [local], all: [memory, local] })) indexBehaviour(title, open);

test.each([null, undefined, "text", [1]])("metadata whose toJSON gives %j are refused", async (given) => {
  await using client = createClient({ indexLocation: { location: "memory" } });
  const index = await client.createIndex({ indexName: "to JSON", indexKey: generateKey() });
  const metadata = { toJSON: () => given };
  const attempt = index.upsert([{ id: "a", vector: [1], metadata }]);
  await expect(attempt).rejects.toMatchObject({ code: "invalid_request" });
  expect(await index.query({ queryVector: [1], filters: { a: { $ne: 1 } } })).toEqual([]);
});
