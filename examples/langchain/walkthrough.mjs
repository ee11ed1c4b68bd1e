// %% [markdown]
// # EncryptedVectorStore, step by step
//
// A notebook as a script: editors that know the `// %%` marks run it cell by cell, and `node walkthrough.mjs` as a whole.
// Needs: npm install sealdex @langchain/core @langchain/textsplitters

// %% Setup: a key, an embedding model, a store. Nothing is opened before the first call.
import { Document } from "@langchain/core/documents";
import { RecursiveCharacterTextSplitter } from "@langchain/textsplitters";
import { EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

// In memory, the key may end with the process. For an index that lasts: fileKey("./notes.key", { create: true })
const indexKey = generateKey();
const store = new EncryptedVectorStore({
  embeddings: new SealdexEmbeddings(),
  indexName: "walkthrough",
  indexKey,
  indexLocation: { location: "memory" },
  metric: "cosine",
});

// %% Split a text, and add the pieces with ids of their own, so that adding them again changes nothing.
const text = `Vectors, texts and metadata are encrypted before they are stored.
The storage sees names and ciphertext, and cannot read, change or swap anything unnoticed.
A key of 32 bytes opens the index. Whoever loses it loses the index.
Queries run in the process that holds the key, over blocks that it decrypted.`;
const splitter = new RecursiveCharacterTextSplitter({ chunkSize: 100, chunkOverlap: 0 });
const pieces = await splitter.splitDocuments([
  new Document({ pageContent: text, metadata: { source: "about" } }),
]);
const ids = await store.addDocuments(pieces, {
  ids: pieces.map((_, i) => `about-${i}`),
  onProgress: ({ stored, total }) => console.log(`${stored} of ${total} stored`),
});
console.log(ids);

// %% Search, with scores in [0, 1] and with the metric's own distances.
console.log(await store.similaritySearchWithScore("Which key opens the index?", 2));
console.log(
  (await store.similaritySearchWithDistance("Which key opens the index?", 2)).map(([, distance]) => distance),
);

// %% Filter on nested metadata: the splitter says which lines a piece comes from.
console.log((await store.similaritySearch("storage", 9, { "loc.lines.from": { $gte: 3 } })).length);

// %% Get, replace, delete.
await store.addDocuments(
  [new Document({ pageContent: "A key has 32 bytes.", metadata: { source: "note" } })],
  {
    ids: ["about-2"],
  },
);
console.log(await store.getByIds(["about-2", "nobody"]));
await store.delete({ filter: { source: "about" } });
console.log((await store.similaritySearch("anything", 99)).map(({ id }) => id));

// %% Close what the store opened.
await store.close();
