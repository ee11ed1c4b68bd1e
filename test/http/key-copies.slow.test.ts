/** Index keys that requests bring along: after a garbage collection the heap of the service has no copy of them as text. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { type ServiceProcess, startProcess } from "./service-process.js";
import { newFolder } from "../folder.js";

let folder: string;
let service: ServiceProcess | undefined;
afterEach(async () => {
  await service?.kill();
});

async function post(path: string, body: object): Promise<number> {
  const { baseUrl, rootKey } = service as ServiceProcess;
  const response = await fetch(`${baseUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": rootKey },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
}

/** The heap of the service, including all of its strings. The snapshot collects garbage first. */
async function heapOf({ child }: ServiceProcess): Promise<Buffer> {
  child.kill("SIGUSR2");
  for (;;) {
    const name = (await readdir(folder)).find((file) => file.endsWith(".heapsnapshot"));
    const snapshot = name === undefined ? Buffer.of() : await readFile(join(folder, name));
    if (snapshot.subarray(-8).toString("latin1").trimEnd().endsWith("]}")) return snapshot;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("no index key stays in the heap of the service once its requests are answered, though the index is open", async () => {
  folder = await newFolder();
  const rootKey = generateKey();
  service = await startProcess({
    SEALDEX_ROOT_KEY: rootKey,
    SEALDEX_INDEX_LOCATION: `file:${join(folder, "data")}`,
    NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${folder}`,
  });
  const keys = [generateKey(), generateKey(), generateKey().toUpperCase()];
  const wrong: string[] = [];
  const wraps: string[] = [];
  const names = keys.map(() => generateKey());
  for (const [i, index_key] of keys.entries()) {
    const address = { index_name: names[i], index_key };
    const item = { id: "a", vector: [1, 2], contents: "a text" };
    expect(await post("/v1/indexes/create", address)).toBe(200);
    expect(await post("/v1/vectors/upsert", { ...address, items: [item] })).toBe(200);
    expect(await post("/v1/vectors/query", { ...address, query_vectors: [1, 2] })).toBe(200);
    wraps.push(generateKey());
    const wrap = { name: "reader", wrap_key: wraps[i], access: "read-only" };
    expect(await post("/v1/indexes/wraps/add", { ...address, ...wrap })).toBe(200);
    expect(await post("/v1/vectors/num_vectors", { ...address, index_key: wraps[i] })).toBe(200);
    wrong.push(generateKey());
    const foreign = { ...address, index_key: wrong[i], query_vectors: [1, 2] };
    expect(await post("/v1/vectors/query", foreign)).toBe(403);
  }
  // Data of the last request only, such as the subject of a regular expression, are of this one.
  const others = { index_name: "another", index_key: generateKey() };
  for (let i = 0; i < 50; i++) await post("/v1/vectors/num_vectors", others);
  const heap = await heapOf(service);
  // The service does keep the names of open indexes: so a text that it keeps is found.
  for (const name of names) expect(heap.includes(name)).toBe(true);
  for (const key of [...keys, ...wraps, ...wrong]) {
    for (const text of [key, key.toLowerCase(), Buffer.from(key, "hex").toString("base64")]) {
      expect(heap.includes(text)).toBe(false);
    }
  }
});
