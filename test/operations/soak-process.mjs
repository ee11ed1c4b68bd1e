// A process that writes and reads a little at a time, and reports what memory it holds: `{ "pairs": n, "bytes": n,
// "cacheBytes": n }` on a line of its own, before and after. Uses the build. Run with --expose-gc.

import { EmbeddedClient } from "../../dist/esm/index/embedded-client.js";
import { generateKey } from "../../dist/esm/core.js";
import { clock, heldBytes } from "./soak-measure.mjs";

const [warmUp, pairs] = process.argv.slice(2).map(Number);
const d = 16;
const items = 200;
const metadataBytes = 100;

const client = new EmbeddedClient({ indexLocation: { location: "memory" }, automaticTraining: false }, clock);
const options = { indexName: "soak", indexKey: generateKey() };
const index = await client.createIndex(options);

let state = 1;
const random = () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
const vector = () => Float32Array.from({ length: d }, random);
const item = (i, round) => ({
  id: `item ${i}`,
  vector: vector(),
  contents: `contents ${round}`,
  metadata: { round, i, text: "x".repeat(metadataBytes) },
});

async function pair(round) {
  await index.upsert([item(round % items, round)]);
  await index.query({ queryVector: vector(), topK: 5, nProbes: 2, include: ["distance", "metadata"] });
  if (round % 3 === 0)
    await index.query({ queryVector: vector(), topK: 5, filter: { round: { $gt: round - 50 } } });
  if (round % 5 === 0) await index.get([`item ${round % items}`]);
  if (round % 20 === 0) await index.delete({ ids: [`item ${(7 * round) % items}`] });
  if (round % 50 === 0) await index.count();
  if (round % 10 === 0) {
    // Opened once more, used, and forgotten.
    const again = await client.loadIndex(options);
    await again.query({ queryVectors: [vector(), vector()], topK: 3 });
  }
  if (round % 1000 === 0) await index.train({ nLists: 4 });
}

async function report(done) {
  const held = await heldBytes();
  const { kernelBytes, cacheBytes } = (await index.describe()).memory;
  const bytes = held + kernelBytes;
  process.stdout.write(`${JSON.stringify({ pairs: done, bytes, cacheBytes })}\n`);
}

await index.upsert(Array.from({ length: items }, (_, i) => item(i, 0)));
await index.train({ nLists: 4 });
for (let round = 1; round <= warmUp; round++) await pair(round);
await report(warmUp);
for (let round = warmUp + 1; round <= warmUp + pairs; round++) await pair(round);
await report(warmUp + pairs);
await client.close();
