// An encrypted vector store on disk: add texts, search them, open it again.
//
// Run: node quickstart.mjs        Needs: npm install sealdex @langchain/core

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EncryptedVectorStore, fileKey, generateKey, SealdexEmbeddings } from "sealdex";

// Any LangChain Embeddings fits, such as new OpenAIEmbeddings(). This one matches meaning and words, and needs no network.
const embeddings = new SealdexEmbeddings();
const path = await mkdtemp(join(tmpdir(), "sealdex-example-"));
const args = {
  indexName: "notes",
  indexKey: fileKey(join(path, "notes.key"), { create: true }), // keep the file: without it, nobody can open the index
  indexLocation: { location: "local", path: join(path, "data") },
};

const store = new EncryptedVectorStore(embeddings, args);
await store.addTexts(
  ["Keys are rotated every year.", "Salmon swim upstream.", "The year of the salmon."],
  [{ page: 1 }, { page: 2 }, { page: 3 }],
  { ids: ["keys", "salmon", "year"] },
);
for (const [document, score] of await store.similaritySearchWithScore("How often are keys rotated?", 2)) {
  console.log(score.toFixed(3), document.id, document.pageContent);
}
await store.delete({ ids: ["year"] });
await store.close();

// Another process would do the same: the key opens the index, and without it nobody can.
const again = await EncryptedVectorStore.fromExistingIndex(embeddings, args);
console.log(
  "Opened again:",
  (await again.getByIds(["salmon", "keys", "year"])).map(({ id }) => id),
);
await again.close();
await EncryptedVectorStore.fromExistingIndex(embeddings, { ...args, indexKey: generateKey() }).catch(
  (error) => console.log("With another key:", error.code),
);
await rm(path, { recursive: true });
