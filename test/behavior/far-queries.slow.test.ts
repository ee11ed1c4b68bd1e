import { afterEach, expect, test } from "vitest";
import { type Client, createClient, generateKey, type IndexType, type Metric } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { clustered, gaussian } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";

const clients: Client[] = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

const queryCount = 40;

interface Shape {
  readonly metric: Metric;
  readonly n: number;
  readonly d: number;
  readonly clusters: number;
  /** How a query is made of a vector that is like the rows. */
  readonly far: (vector: Float32Array, random: () => number) => Float32Array;
}

const scaled = (vector: Float32Array) => vector.map((x) => 10 * x);
const opposite = (vector: Float32Array) => vector.map((x) => -x);
const anywhere = (vector: Float32Array, random: () => number) => vector.map(() => 5 * gaussian(random));

const shapes: Record<string, Shape> = {
  "ten times as long": { metric: "euclidean", n: 6000, d: 24, clusters: 40, far: scaled },
  "ten times as long, of one component": { metric: "euclidean", n: 4000, d: 1, clusters: 40, far: scaled },
  "ten times as long, of two components": { metric: "euclidean", n: 4000, d: 2, clusters: 40, far: scaled },
  opposite: { metric: "cosine", n: 4000, d: 384, clusters: 40, far: opposite },
  "opposite, in two clusters": { metric: "euclidean", n: 4000, d: 16, clusters: 2, far: opposite },
  "in any direction": { metric: "cosine", n: 4000, d: 384, clusters: 40, far: anywhere },
  "in any direction, euclidean": { metric: "euclidean", n: 4000, d: 64, clusters: 20, far: anywhere },
};

/** Recall of automatic probing per number of neighbors, relative to a scan of everything. */
async function recallOf(type: IndexType, { metric, n, d, clusters, far }: Shape) {
  const random = seededRandom(4);
  const all = rowsOf(clustered(n + queryCount, d, clusters, 6), d);
  const queries = all.slice(n).map((vector) => far(vector, random));
  const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  clients.push(client);
  const indexConfig = type === "ivfpq" ? { type, pqBits: 8, pqDim: 96 } : { type };
  const index = await client.createIndex({ indexName: "far", indexKey: generateKey(), metric, indexConfig });
  await index.upsert(all.slice(0, n).map((vector, row) => ({ id: `${row}`, vector })));
  await index.train();
  const recalls: Record<number, number> = {};
  for (const topK of [1, 10, 100, n + 1]) {
    const share = { found: 0, wanted: 0 };
    for (const queryVector of queries) {
      const request = { queryVector, topK, include: ["distance"] } as const;
      const exact = await index.query({ ...request, recall: "exact" });
      const farthest = exact[exact.length - 1].distance * (1 + 1e-6) + 1e-9;
      const matches = await index.query({ ...request, nProbes: 0 });
      expect(matches.length).toBe(Math.min(topK, n));
      share.found += matches.filter(({ distance }) => distance <= farthest).length;
      share.wanted += exact.length;
    }
    recalls[topK] = share.found / share.wanted;
  }
  return recalls;
}

test.each(Object.entries(shapes))(
  "queries far from all rows, %s, find 95 % of their neighbors",
  async (_, shape) => {
    for (const recall of Object.values(await recallOf("ivfflat", shape)))
      expect(recall).toBeGreaterThanOrEqual(0.95);
  },
);

test.each(["ivf", "ivfpq"] as const)(
  "queries far from all rows find the same in codes of %s as a scan of all codes",
  async (type) => {
    for (const recall of Object.values(await recallOf(type, shapes.opposite)))
      expect(recall).toBeGreaterThanOrEqual(0.95);
  },
);
