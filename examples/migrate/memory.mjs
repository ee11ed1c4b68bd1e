// Moves a MemoryVectorStore into an encrypted index on disk, with the command, and searches it.
//
// Run: node memory.mjs        Needs: npm install sealdex sealdex-migrate @langchain/core @langchain/classic

import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryVectorStore } from "@langchain/classic/vectorstores/memory";
import { createClient, EncryptedVectorStore, fileKey, SealdexEmbeddings } from "sealdex";

// The model that made the old vectors also embeds the questions.
const embeddings = new SealdexEmbeddings();
const old = new MemoryVectorStore(embeddings);
await old.addDocuments([
  { id: "keys", pageContent: "Keys are rotated every year.", metadata: { page: 1, reviewed: null } },
  { id: "salmon", pageContent: "Salmon swim upstream.", metadata: { page: 2, tags: ["fish"] } },
]);

const folder = await mkdtemp(join(tmpdir(), "sealdex-example-"));
await writeFile(join(folder, "memory.json"), JSON.stringify(old.memoryVectors));

const target = ["--to", "file:./data", "--index", "notes", "--key-file", "notes.key"];
const command = ["sealdex-migrate", "--from", "memory:memory.json", ...target];
const npx = (...more) =>
  execFileSync("npx", ["--no-install", "--prefix", import.meta.dirname, ...command, ...more], {
    cwd: folder,
    encoding: "utf8",
  });
console.log(npx("--plan"));
console.log(npx());

const client = createClient({ indexLocation: { location: "local", path: join(folder, "data") } });
const store = new EncryptedVectorStore(embeddings, {
  client,
  indexName: "notes",
  indexKey: fileKey(join(folder, "notes.key")),
});
const [found] = await store.similaritySearch("How often are keys rotated?", 1);
console.log(found.id, found.pageContent, found.metadata);
await client.close();
await rm(folder, { recursive: true });
