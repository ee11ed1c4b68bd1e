// An encrypted index in memory of a data set, and the recall and time of its queries.

import { createClient, generateKey } from "sealdex/core";

const rowsTogether = 5000;

/** An untrained index. */
export async function createIndex({ metric }, { automaticTraining = false, indexConfig } = {}) {
  const client = createClient({
    indexLocation: { location: "memory" },
    automaticTraining,
    cacheBytesMax: 4e9,
  });
  const options = { indexName: "recall", indexKey: generateKey(), metric, indexConfig };
  const index = await client.createIndex(options);
  return { client, index };
}

/** Adds the rows from `from` to `to`, whose ids are their numbers. `metadata` has the fields of each row. */
export async function addRows(
  index,
  { base, dimension },
  { from = 0, to = base.length / dimension, metadata },
) {
  for (let start = from; start < to; start += rowsTogether) {
    const rows = Array.from({ length: Math.min(rowsTogether, to - start) }, (_, i) => start + i);
    await index.upsert(
      rows.map((row) => ({
        id: String(row),
        vector: base.subarray(row * dimension, (row + 1) * dimension),
        metadata: metadata?.(row),
      })),
    );
  }
}

/** Per query what a scan of everything finds: of an index of codes, what a declared recall is a share of. In the form that `measure` takes. */
export async function scanned(index, { queries, dimension }, topK) {
  const found = [];
  for (let at = 0; at < queries.length; at += dimension) {
    const queryVector = queries.subarray(at, at + dimension);
    const rows = (await index.query({ queryVector, topK, recall: "exact" })).map(({ id }) => Number(id));
    found.push({ rows, squares: Object.fromEntries(rows.map((row) => [row, 0])) });
  }
  return found;
}

/** The recall and the median time of a request, over the queries for which `nearest` has the rows to be found and the squares of all rows. */
export async function measure(index, { queries, dimension }, { nearest, request }) {
  const times = [];
  let found = 0;
  let wanted = 0;
  for (const timed of [false, true]) {
    for (const [query, { rows, squares }] of nearest.entries()) {
      const queryVector = queries.subarray(query * dimension, (query + 1) * dimension);
      const asked = performance.now();
      const matches = await index.query({ queryVector, ...request });
      if (!timed) continue;
      times.push(1000 * (performance.now() - asked));
      if (rows.length === 0) continue;
      // A row that is as near as the farthest neighbour counts for it; float32 sums differ a little.
      const farthest = squares[rows[rows.length - 1]] * (1 + 1e-5) + 1e-9;
      for (const { id } of matches) if (squares[Number(id)] <= farthest) found++;
      wanted += rows.length;
    }
  }
  times.sort((a, b) => a - b);
  return { recall: wanted === 0 ? 1 : found / wanted, p50: times[Math.floor(times.length / 2)] };
}
