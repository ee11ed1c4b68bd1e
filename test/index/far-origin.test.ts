import { afterEach, expect, test } from "vitest";
import { type Client, createClient, generateKey, type Metric } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { gaussian } from "../engine/data.js";

const clients: Client[] = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

const [n, d, queryCount] = [6000, 16, 300];

test.each(["euclidean", "cosine"] satisfies Metric[])(
  "rows that one component puts 1,000 standard deviations from the origin are found as often as declared, %s",
  async (metric) => {
    const random = seededRandom(3);
    const vector = () => Float32Array.from({ length: d }, (_, i) => (i === 0 ? 1000 : 0) + gaussian(random));
    const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
    clients.push(client);
    const index = await client.createIndex({ indexName: "far", indexKey: generateKey(), metric });
    await index.upsert(Array.from({ length: n }, (_, row) => ({ id: `${row}`, vector: vector() })));
    await index.train();
    const queryVectors = Array.from({ length: queryCount }, vector);
    const exact = await index.query({ queryVectors, topK: 10, recall: "exact" });
    for (const recall of [0.8, 0.95]) {
      const found = await index.query({ queryVectors, topK: 10, recall });
      const shares = found.map((matches, i) => {
        const farthest = exact[i][9].distance;
        return matches.filter(({ distance }) => distance <= farthest).length / 10;
      });
      expect(shares.reduce((sum, share) => sum + share, 0) / queryCount).toBeGreaterThan(recall - 0.03);
    }
  },
);
