// npm run bench -- load
//
// Queries over HTTP on loopback beside the same queries in the process: latency one at a time, and what a load of many connections
// gets, with one and with two processes on one Redis (a local folder, if there is no redis-server). Prints Markdown.
//
// COUNT=100000 vectors of D=384 numbers; SECONDS=5 per row; LOCATION=redis://... for a storage of one's own. Needs
// npm install --prefix bench.

import { cpus } from "node:os";
import autocannon from "autocannon";
import { askOneByOne, percentile } from "./one-by-one.mjs";
import { createIndex, queryVectors } from "./data.mjs";
import { startRedis } from "./redis.mjs";
import { startService } from "./service.mjs";

const count = Number(process.env.COUNT ?? 100_000);
const d = Number(process.env.D ?? 384);
const seconds = Number(process.env.SECONDS ?? 5);
const connections = 16;
const nProbes = 8;
/** Vectors as published clients send them, and as the client of `sealdex/client` does. */
const forms = [
  { name: "JSON", path: "/v1/vectors/query", fieldsOf: (vector) => ({ query_vectors: vector }) },
  {
    name: "base64",
    path: "/v1/vectors/query_binary",
    fieldsOf: (vector) => ({
      batch: {
        dimension: vector.length,
        vectors_b64: Buffer.from(Float32Array.from(vector).buffer).toString("base64"),
      },
    }),
  },
];

const redis = await startRedis(process.env.LOCATION);
try {
  console.log(
    `${count} vectors of ${d} numbers in ${redis.name}; Node ${process.version}, ${cpus()[0].model}.`,
  );
  console.log(`One by one: a connection with one request at a time. Load: ${connections} connections.\n`);
  const { address, index, client } = await createIndex(redis.location, count, d);
  const vectors = queryVectors(d);
  console.log("| where | top_k | p50 (ms) | p99 (ms) | queries per second, load | p99, load (ms) | errors |");
  console.log("|---|---:|---:|---:|---:|---:|---:|");
  const inProcess = new Map();
  for (const topK of [10, 100]) {
    const ask = (i) =>
      index.query({ queryVector: vectors[i % vectors.length], topK, nProbes, include: ["distance"] });
    const times = await askOneByOne(ask, seconds);
    inProcess.set(topK, percentile(times, 0.5));
    row(["in the process", topK, ms(percentile(times, 0.5)), ms(percentile(times, 0.99)), "", "", ""]);
  }
  await client.close();
  for (const processes of [1, 2]) {
    const service = await startService(redis.url, processes);
    for (const [topK, form] of [10, 100].flatMap((most) => forms.map((one) => [most, one]))) {
      const options = { ...address, top_k: topK, n_probes: nProbes, include: ["distance"] };
      const bodies = vectors.map((vector) => JSON.stringify({ ...options, ...form.fieldsOf(vector) }));
      const connection = await service.connect();
      const times = await askOneByOne((i) => connection.post(form.path, bodies[i % bodies.length]), seconds);
      connection.close();
      const load = await autocannon({
        url: service.baseUrl + form.path,
        method: "POST",
        headers: { "Content-Type": "application/json", "X-API-Key": service.apiKey },
        requests: bodies.map((body) => ({ body })),
        connections,
        duration: seconds,
      });
      const failed = load.errors + load.timeouts + load.non2xx;
      const added = percentile(times, 0.5) - inProcess.get(topK);
      row([
        `HTTP, ${form.name}, ${processes} process${processes > 1 ? "es" : ""}`,
        topK,
        `${ms(percentile(times, 0.5))} (+${ms(added)})`,
        ms(percentile(times, 0.99)),
        load.requests.average.toFixed(0),
        load.latency.p99,
        failed,
      ]);
    }
    await service.stop();
  }
} finally {
  await redis.stop();
}

function row(cells) {
  console.log(`| ${cells.join(" | ")} |`);
}

function ms(value) {
  return value.toFixed(2);
}
