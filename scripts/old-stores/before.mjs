// Fills the old stores that docs/migrating.md moves from. MemoryVectorStore, hnswlib-node and the client of CyborgDB are
// the real packages, and our own service answers as CyborgDB's does. npm cannot install faiss-node everywhere, so the
// bytes of a flat index are written here. Chroma, PostgreSQL with pgvector, and Pinecone are servers that do not run
// here: chromadb.mjs, pg.mjs and pinecone.mjs answer as the documented calls of their clients do.

import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { Client } from "cyborgdb";
import hnswlib from "hnswlib-node";
import { SealdexEmbeddings } from "sealdex";
import { idOf, rowsOf, texts } from "./rows.mjs";

const embeddings = new SealdexEmbeddings();
const rows = {};
for (const [store, own] of Object.entries(texts)) {
  const vectors = await embeddings.embedDocuments(own);
  rows[store] = own.map((text, i) => ({
    id: idOf(store, i),
    text,
    metadata: { from: store, page: i + 1, tags: ["a"] },
    vector: vectors[i],
  }));
}
writeFileSync("rows.json", JSON.stringify(rows));
const documentOf = ({ text, metadata }) => ({ pageContent: text, metadata });
const dimension = rows.hnswlib[0].vector.length;

mkdirSync("hnswlib");
const graph = new hnswlib.HierarchicalNSW("cosine", dimension);
graph.initIndex(rows.hnswlib.length);
rows.hnswlib.forEach(({ vector }, i) => graph.addPoint(vector, i));
graph.writeIndexSync("hnswlib/hnswlib.index");
writeFileSync("hnswlib/args.json", JSON.stringify({ space: "cosine", numDimensions: dimension }));
writeFileSync(
  "hnswlib/docstore.json",
  JSON.stringify(rows.hnswlib.map((row, i) => [String(i), documentOf(row)])),
);

mkdirSync("faiss");
const header = Buffer.alloc(45);
header.write("IxF2", "latin1");
header.writeInt32LE(dimension, 4);
header.writeBigInt64LE(BigInt(rows.faiss.length), 8);
header.writeBigInt64LE(1n << 20n, 16);
header.writeBigInt64LE(1n << 20n, 24);
header.writeUInt8(1, 32);
header.writeInt32LE(1, 33);
header.writeBigInt64LE(BigInt(rows.faiss.length * dimension), 37);
const numbers = Float32Array.from(rows.faiss.flatMap(({ vector }) => vector));
writeFileSync("faiss/faiss.index", Buffer.concat([header, Buffer.from(numbers.buffer)]));
writeFileSync(
  "faiss/docstore.json",
  JSON.stringify([
    rows.faiss.map((row) => [row.id, documentOf(row)]),
    Object.fromEntries(rows.faiss.map(({ id }, i) => [i, id])),
  ]),
);

for (const [name, file] of [
  ["chromadb", "chromadb.mjs"],
  ["pg", "pg.mjs"],
  ["@pinecone-database/pinecone", "pinecone.mjs"],
]) {
  const folder = `node_modules/${name}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, JSON.stringify({ name, main: "index.mjs" }));
  copyFileSync(`old-stores/${file}`, `${folder}/index.mjs`);
  copyFileSync("old-stores/rows.mjs", `${folder}/rows.mjs`);
}

const client = new Client({ baseUrl: process.env.CYBORGDB_URL, apiKey: process.env.CYBORGDB_API_KEY });
const indexKey = client.generateKey();
writeFileSync("cyborgdb.key", Buffer.from(indexKey).toString("hex"));
const old = await client.createIndex({ indexName: "notes", indexKey, metric: "cosine" });
// One text where LangChain's store keeps it, and one where the service keeps texts.
const [{ text: firstText, ...first }, second] = rows.cyborgdb;
await old.upsert({
  items: [
    { ...first, metadata: { ...first.metadata, _content: firstText } },
    { id: second.id, vector: second.vector, contents: second.text, metadata: second.metadata },
  ],
});

writeFileSync(
  "export.jsonl",
  rowsOf("jsonl")
    .map(({ id, vector, text, metadata }) =>
      JSON.stringify({ id, embedding: vector, document: text, metadata }),
    )
    .join("\n"),
);
