/** The longest requests that published clients send: 20,000 vectors of 384 numbers as JSON, some 150 MB. */

import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { startProcess } from "./service-process.js";

const count = 20_000;
const dimension = 384;
const indexKey = generateKey();

/** As `JSON.stringify` writes float64. */
const vectors = Array.from({ length: 100 }, (_, i) =>
  Array.from(new Float64Array(dimension).keys(), (j) => Math.sin(i * dimension + j + 0.1) / 9),
);

function* body(): Generator<string> {
  const texts = vectors.map((vector) => JSON.stringify(vector));
  yield `{"index_name":"a","index_key":"${indexKey}","items":[`;
  for (let i = 0; i < count; i++) {
    yield `${i === 0 ? "" : ","}{"id":"${i}","vector":${texts[i % texts.length]},"contents":"text ${i}"}`;
  }
  yield "]}";
}

/** Most memory that a process had, in bytes. */
async function peakOf(pid: number | undefined): Promise<number> {
  const [, kilobytes] = /VmHWM:\s*(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return 1024 * Number(kilobytes);
}

test("they are stored within 512 MiB more, with a heap of 700 MiB, while other requests are answered", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sealdex-long-"));
  const service = await startProcess({
    SEALDEX_INDEX_LOCATION: `file:${folder}`,
    SEALDEX_ROOT_KEY: generateKey(),
    SEALDEX_EVENT_LOOP_DELAY_MS_MAX: "60000",
    NODE_OPTIONS: "--max-old-space-size=700",
  });
  try {
    const { baseUrl, rootKey, child } = service;
    const index = await createClient({ baseUrl, apiKey: rootKey }).createIndex({ indexName: "a", indexKey });
    const before = await peakOf(child.pid);
    const headers = { "Content-Type": "application/json", "X-API-Key": rootKey };
    const sent = request(`${baseUrl}/v1/vectors/upsert`, { method: "POST", headers });
    const answered = once(sent, "response");
    let isAnswered = false;
    void answered.then(() => (isAnswered = true));
    Readable.from(body()).pipe(sent);
    let others = 0;
    for (; !isAnswered; others++) expect((await fetch(`${baseUrl}/v1/health/live`)).status).toBe(200);
    const [response] = await answered;
    expect(response.statusCode).toBe(200);
    response.resume();
    expect(others).toBeGreaterThan(20);
    expect(await peakOf(child.pid)).toBeLessThan(before + 512 * 1024 * 1024);
    expect(await index.count()).toBe(count);
    const [item] = await index.get(["19999"], { include: ["vector", "contents"] });
    expect(item).toMatchObject({ contents: "text 19999" });
    expect(Float32Array.from(item.vector ?? [])).toEqual(Float32Array.from(vectors[99]));
  } finally {
    await service.kill();
    await rm(folder, { recursive: true });
  }
});
