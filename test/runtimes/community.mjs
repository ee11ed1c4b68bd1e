// node community.mjs save|check
// Stores, a record manager and loaders of @langchain/community beside an encrypted store: see scripts/check-community.mjs.

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { CSVLoader } from "@langchain/community/document_loaders/fs/csv";
import { ObsidianLoader } from "@langchain/community/document_loaders/fs/obsidian";
import { PDFLoader } from "@langchain/community/document_loaders/fs/pdf";
import { SRTLoader } from "@langchain/community/document_loaders/fs/srt";
import { InMemoryRecordManager } from "@langchain/community/indexes/memory";
import { FaissStore } from "@langchain/community/vectorstores/faiss";
import { HNSWLib } from "@langchain/community/vectorstores/hnswlib";
import { Document } from "@langchain/core/documents";
import { index as indexDocuments } from "@langchain/core/indexing";
import { EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

const texts = ["Keys are rotated every year.", "Salmon swim upstream.", "Herons hunt in rivers."];
const documents = texts.map(
  (pageContent, i) => new Document({ pageContent, metadata: { page: i, tags: ["a"], loc: { lines: i } } }),
);
const embeddings = new SealdexEmbeddings();
const vectors = await embeddings.embedDocuments(texts);
const faissIds = ["keys", "salmon", "herons"];

/** A flat index of Faiss as far as `FaissStore` needs one to save: npm cannot install faiss-node everywhere. */
class FlatIndex {
  #rows = [];

  getDimension() {
    return vectors[0].length;
  }

  ntotal() {
    return this.#rows.length;
  }

  add(vector) {
    this.#rows.push(vector);
  }

  write(file) {
    const count = BigInt(this.#rows.length);
    const header = Buffer.alloc(45);
    header.write("IxF2", "latin1");
    header.writeInt32LE(this.getDimension(), 4);
    header.writeBigInt64LE(count, 8);
    header.writeBigInt64LE(1n << 20n, 16);
    header.writeBigInt64LE(1n << 20n, 24);
    header.writeUInt8(1, 32);
    header.writeInt32LE(1, 33);
    header.writeBigInt64LE(count * BigInt(this.getDimension()), 37);
    writeFileSync(file, Buffer.concat([header, Buffer.from(Float32Array.from(this.#rows.flat()).buffer)]));
  }
}

async function save() {
  const hnsw = await HNSWLib.fromDocuments(documents, embeddings);
  await hnsw.save("hnswlib");
  const faiss = new FaissStore(embeddings, { index: new FlatIndex() });
  await faiss.addDocuments(documents, { ids: faissIds });
  await faiss.save("faiss");
}

/** Every item of both old stores, after the programs of docs/migrating.md. */
async function checkMoved() {
  const { index, store } = await import("./new-index.mjs");
  for (const ids of [documents.map((_, i) => `hnswlib-${i}`), faissIds]) {
    const found = await index.get(ids, { include: ["vector", "contents", "metadata"] });
    strictEqual(found.length, documents.length);
    for (const [i, { vector, contents, metadata }] of found.entries()) {
      strictEqual(contents, documents[i].pageContent);
      deepStrictEqual(metadata, documents[i].metadata);
      const exact = Float32Array.from(vectors[i]);
      const difference = Math.max(...exact.map((x, j) => Math.abs(x - vector[j])));
      // hnswlib normalizes what it stores; the file of Faiss has the very numbers.
      if (difference > (ids === faissIds ? 0 : 1e-7)) throw new Error(`${ids[i]} differs by ${difference}`);
    }
  }
  const [best] = await store.similaritySearch("How often are keys rotated?", 1, { page: { $lt: 1 } });
  strictEqual(best.pageContent, texts[0]);
}

const newStore = (indexName) =>
  new EncryptedVectorStore(embeddings, {
    indexName,
    indexKey: generateKey(),
    indexLocation: { location: "memory" },
  });

async function checkRecordManager() {
  const vectorStore = newStore("indexed");
  const recordManager = new InMemoryRecordManager();
  await recordManager.createSchema();
  const run = (names, cleanup) =>
    indexDocuments({
      docsSource: names.map((name) => new Document({ pageContent: name, metadata: { source: name[0] } })),
      recordManager,
      vectorStore,
      options: { cleanup, sourceIdKey: "source" },
    });
  const counts = ({ numAdded, numDeleted, numSkipped }) => [numAdded, numDeleted, numSkipped];
  deepStrictEqual(counts(await run(["a1", "a2", "b1"], "incremental")), [3, 0, 0]);
  deepStrictEqual(counts(await run(["a1", "a3"], "incremental")), [1, 1, 1]);
  deepStrictEqual(counts(await run(["a1"], "full")), [0, 2, 1]);
  deepStrictEqual(
    (await vectorStore.similaritySearch("a", 9)).map(({ pageContent }) => pageContent),
    ["a1"],
  );
  await vectorStore.close();
}

function writePdf(file, text) {
  const content = `BT /F1 24 Tf 72 700 Td (${text}) Tj ET`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  let pdf = "%PDF-1.4\n";
  const offsets = objects.map((object, i) => {
    const offset = pdf.length;
    pdf += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const place = pdf.length;
  const count = objects.length + 1;
  pdf += `xref\n0 ${count}\n0000000000 65535 f \n${offsets.join("")}`;
  pdf += `trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${place}\n%%EOF\n`;
  writeFileSync(file, pdf);
}

async function checkLoaders() {
  mkdirSync("vault", { recursive: true });
  writeFileSync("fish.csv", "name,home\nSalmon,rivers\nCod,sea\n");
  writeFileSync("film.srt", "1\n00:00:01,000 --> 00:00:02,000\nThe heron waits.\n");
  writeFileSync("vault/note.md", "---\ntags: [keys]\n---\nKeys are rotated every year.\n");
  writePdf("paper.pdf", "Glaciers retreat in summer.");
  const loaders = [
    new CSVLoader("fish.csv"),
    new SRTLoader("film.srt"),
    new ObsidianLoader("vault"),
    new PDFLoader("paper.pdf"),
  ];
  const loaded = (await Promise.all(loaders.map((loader) => loader.load()))).flat();
  const vectorStore = newStore("loaded");
  const ids = await vectorStore.addDocuments(loaded);
  const stored = await vectorStore.getByIds(ids);
  for (const [i, { pageContent, metadata }] of stored.entries()) {
    strictEqual(pageContent, loaded[i].pageContent);
    deepStrictEqual(metadata, JSON.parse(JSON.stringify(loaded[i].metadata)));
  }
  const [line] = await vectorStore.similaritySearch("cod", 1, { source: "fish.csv", line: 2 });
  strictEqual(line.pageContent, "name: Cod\nhome: sea");
  const [paper] = await vectorStore.similaritySearch("glaciers", 1, { "pdf.totalPages": 1 });
  strictEqual(paper.pageContent, "Glaciers retreat in summer.");
  await vectorStore.close();
}

if (process.argv[2] === "save") await save();
else {
  await checkMoved();
  await checkRecordManager();
  await checkLoaders();
  const { version } = JSON.parse(readFileSync("node_modules/@langchain/community/package.json", "utf8"));
  process.stdout.write(`@langchain/community ${version}: HNSWLib, FaissStore, a record manager, 4 loaders\n`);
}
