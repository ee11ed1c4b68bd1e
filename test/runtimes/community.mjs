// A record manager and loaders of @langchain/community beside an encrypted store: see scripts/check-community.mjs.

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { CSVLoader } from "@langchain/community/document_loaders/fs/csv";
import { ObsidianLoader } from "@langchain/community/document_loaders/fs/obsidian";
import { PDFLoader } from "@langchain/community/document_loaders/fs/pdf";
import { SRTLoader } from "@langchain/community/document_loaders/fs/srt";
import { InMemoryRecordManager } from "@langchain/community/indexes/memory";
import { Document } from "@langchain/core/documents";
import { index as indexDocuments } from "@langchain/core/indexing";
import { EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

const embeddings = new SealdexEmbeddings();

const newStore = (indexName) =>
  new EncryptedVectorStore(embeddings, {
    indexName,
    indexKey: generateKey(),
    indexLocation: { location: "memory" },
  });

/** A clock that moves: with its own, a run deletes what it updates in the millisecond in which it begins. */
class RecordManager extends InMemoryRecordManager {
  #time = 0;

  async getTime() {
    return ++this.#time;
  }
}

async function checkRecordManager() {
  const vectorStore = newStore("indexed");
  const recordManager = new RecordManager();
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

await checkRecordManager();
await checkLoaders();
const { version } = JSON.parse(readFileSync("node_modules/@langchain/community/package.json", "utf8"));
process.stdout.write(`@langchain/community ${version}: a record manager, 4 loaders\n`);
