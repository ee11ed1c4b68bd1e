// Records what sealdex-migrate and a real Chroma server say to each other, for packages/migrate/test/recorded.test.ts:
// pip install chromadb, chroma run --port 18711, and this. Qdrant's and Pinecone's conversations are written by hand from
// the documentation of these services.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const chroma = "http://127.0.0.1:18711";
const collections = `${chroma}/api/v2/tenants/default_tenant/databases/default_database/collections`;
const post = async (path, body) =>
  (
    await fetch(collections + path, { method: "POST", headers: { "Content-Type": "application/json" }, body })
  ).json();

await fetch(`${collections}/notes`, { method: "DELETE" });
const { id } = await post("", JSON.stringify({ name: "notes", metadata: { "hnsw:space": "l2" } }));
await post(
  `/${id}/add`,
  // As a text, since a number of JavaScript does not hold the greatest integers.
  `{ "ids": ["a", "b", "c", "ü"],
     "embeddings": [[1, 0, 0.1], [0, 1, 0.2], [0.5, 0.5, 0.3], [0, 0, 1]],
     "documents": ["first", null, "third \\u2028", ""],
     "metadatas": [{ "big": 9007199254740993, "float": 1.5, "yes": true, "tags": ["x", "y"] }, null, { "n": 3 }, { "t": "" }] }`,
);

const calls = [];
const proxy = createServer((request, response) => void forward(request, response));
proxy.listen(0);
await once(proxy, "listening");
const folder = mkdtempSync(join(tmpdir(), "sealdex-record-"));
const program = fileURLToPath(new URL("../packages/migrate/bin/sealdex-migrate.js", import.meta.url));
const from = `chroma:http://127.0.0.1:${proxy.address().port}/notes`;
const args = ["--from", from, "--to", "file:./data", "--index", "notes", "--key-file", "notes.key"];
console.log((await promisify(execFile)(process.execPath, [program, ...args], { cwd: folder })).stdout);
const file = new URL("../packages/migrate/test/conversations/chroma.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(calls, null, 2)}\n`);
rmSync(folder, { recursive: true });
proxy.close();

async function forward(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts).toString();
  const { method, url } = request;
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(chroma + url, { method, headers, ...(body && { body }) });
  const text = await answer.text();
  calls.push({ call: `${method} ${url}`, ...(body && { body: JSON.parse(body) }), response: text });
  response.writeHead(answer.status).end(text);
}
