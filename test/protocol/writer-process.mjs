// One process of a test, on an index of a location. Reports each call when it was acknowledged, on a line of its own, with
// times of the machine's monotonic clock: `{ "ids": […], "began": ms, "ended": ms }`. Uses the build.

import { writeSync } from "node:fs";
import { createClient } from "sealdex/core";

const {
  location,
  indexName,
  indexKey,
  role,
  writer,
  first = 0,
  batches,
  batchItems,
  client: clientOptions,
} = JSON.parse(process.argv[2]);
const client = createClient({ ...clientOptions, indexLocation: location });
const index = await client.loadIndex({ indexName, indexKey });
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;
// Written at once, whatever becomes of the process.
const report = (line) => writeSync(1, `${JSON.stringify(line)}\n`);

// Until the standard input ends.
let working = true;
process.stdin.on("end", () => (working = false)).resume();

if (role === "writer") {
  // Without a number of batches, until it is to end.
  for (let n = first; working && (batches === undefined || n < first + batches); n++) {
    const ids = Array.from({ length: batchItems }, (_, i) => `${writer}-${n}-${i}`);
    const began = now();
    report({ ids, began });
    await index.upsert(ids.map((id, i) => ({ id, vector: [n, i, 1], metadata: { writer, n } })));
    report({ ids, began, ended: now() });
  }
} else {
  while (working) {
    const began = now();
    if (role === "reader") {
      const ids = await index.listIds();
      report({ ids, began, ended: now() });
    } else if (role === "querier") {
      const queryVector = [1, 1, 1];
      const found = await index.query({ queryVector, topK: 10_000, recall: "exact", include: ["metadata"] });
      report({ ids: found.map(({ id }) => id).sort(), began, ended: now() });
    } else if (role === "compacter") {
      await index.compact();
      report({ began, ended: now() });
    } else {
      await index.train({ nLists: 3 }).catch((error) => {
        // Not enough items yet, or others rewrote the index each time.
        if (!["invalid_request", "storage_unavailable"].includes(error.code)) throw error;
      });
      report({ began, ended: now() });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
await client.close();
process.stdin.destroy();
