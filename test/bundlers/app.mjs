/** A user's app without optional packages: a store in a folder, training on threads, a batch query, and what is said of what is missing. */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, generateKey } from "sealdex/core";

export async function runAlone() {
  const started = performance.now();
  const path = mkdtempSync(join(tmpdir(), "sealdex-bundled-"));
  const ones = Array.from({ length: 64 }, () => 1);
  const client = createClient({ indexLocation: { location: "local", path } });
  const index = await client.createIndex({ indexName: "a", indexKey: generateKey() });
  await index.upsert([{ id: "first", vector: ones, metadata: { n: 0 } }]);
  const [nearest] = await index.query({ queryVector: ones, topK: 1 });
  const coldStartMs = Math.round(performance.now() - started);

  const items = Array.from({ length: 2000 }, (_, i) => ({
    id: `item ${i}`,
    vector: Array.from(ones, (one, j) => Math.sin(one * i * 64 + j)),
    metadata: { n: i % 10 },
  }));
  await index.upsert(items);
  await index.train({ nLists: 16 });
  const queryVectors = items.slice(0, 50).map(({ vector }) => vector);
  const lists = await index.query({ queryVectors, topK: 1, nProbes: 16, filter: { n: { $exists: true } } });
  const right = lists.filter(([match], i) => match.id === `item ${i}`).length;
  await client.close();
  rmSync(path, { recursive: true });

  const closedPort = await new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
  const refusals = [];
  for (const indexLocation of [
    { location: "redis", connectionString: "redis://127.0.0.1:1" },
    { location: "postgres", connectionString: "postgres://127.0.0.1:1/d" },
    { location: "s3", bucket: "bucket" },
  ]) {
    const other = createClient({ indexLocation, storageTimeoutMs: 2000 });
    refusals.push(await reasonOf(other));
    await other.close();
  }
  const remote = createClient({ baseUrl: `http://127.0.0.1:${closedPort}` });
  const service = await reasonOf(remote);
  const models = [];
  for (const embeddingModel of ["default", "all-MiniLM-L6-v2"])
    models.push(await modelReasonOf(embeddingModel));
  const isRight =
    nearest.id === "first" &&
    right === 50 &&
    refusals.every((reason) => reason.startsWith("not_supported: storage location ")) &&
    service.startsWith("storage_unavailable: ") &&
    service.endsWith("(ECONNREFUSED)") &&
    /^not_supported: .*npm install sealdex-model/.test(models[0]) &&
    /^not_supported: .*npm install @huggingface\/transformers/.test(models[1]);
  return { ok: isRight, coldStartMs, right, refusals, service, models };
}

async function modelReasonOf(embeddingModel) {
  const client = createClient({ indexLocation: { location: "memory" }, models: { offline: true } });
  const reason = await client.createIndex({ indexName: "m", indexKey: generateKey(), embeddingModel }).then(
    () => "no error",
    ({ code, message }) => `${code}: ${message}`,
  );
  await client.close();
  return reason;
}

async function reasonOf(client) {
  return client.listIndexes().then(
    () => "no error",
    ({ code, message }) => `${code}: ${message}`,
  );
}
