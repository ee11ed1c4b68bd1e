// Run by scripts/check-test-runners.mjs: a notebook's cells in a context of their own, as kernels on Node's REPL run them. All
// values that they make are of another realm than the library.

import { strictEqual } from "node:assert/strict";
import { PassThrough } from "node:stream";
import { start } from "node:repl";
import { promisify } from "node:util";

const cells = [
  `const { EncryptedByteStore, EncryptedVectorStore, generateKey, SealdexEmbeddings } = require("sealdex");
   const { EncryptedStore } = require("sealdex/langgraph");
   const open = (indexName) => ({ indexName, indexKey: generateKey(), indexLocation: { location: "local", path: folder } });
   new Error("x") instanceof outside.Error`,
  `const store = new EncryptedVectorStore(new SealdexEmbeddings(), { ...open("notes"), textIndex: true });
   await store.addDocuments([
     { pageContent: "Keys are rotated every year.", metadata: { page: 1, tags: ["keys"], at: new Date(0) } },
     { pageContent: "Salmon swim upstream.", metadata: { page: 2, tags: [] } },
   ], { ids: ["keys", "salmon"], signal: new AbortController().signal });
   (await store.similaritySearch("key rotation", 1, { page: { $in: [1, 2] } }))[0].metadata.at`,
  `await store.addVectors([new Float32Array(await store.embeddings.embedQuery("herons"))], [{ pageContent: "Herons", metadata: {} }]);
   (await store.asRetriever({ searchType: "hybrid", k: 1 }).invoke("herons"))[0].pageContent`,
  `const bytes = new EncryptedByteStore(open("bytes"));
   await bytes.mset([["a", new Uint8Array([1, 2])]]);
   (await bytes.mget(["a"]))[0].join()`,
  `const memories = new EncryptedStore(open("memories"));
   await memories.put(["ann"], "likes", { food: "pizza", picture: new Uint8Array([3]) });
   (await memories.get(["ann"], "likes")).value.picture[0]`,
  `await EncryptedVectorStore.fromExistingIndex(new SealdexEmbeddings(), open("notes")).catch(({ code }) => code)`,
  `await Promise.all([store.close(), bytes.close(), memories.stop()]); "closed"`,
];
const expected = [false, "1970-01-01T00:00:00.000Z", "Herons", "1,2", 3, "wrong_index_key", "closed"];

const notebook = start({ input: new PassThrough(), output: new PassThrough(), useGlobal: false });
Object.assign(notebook.context, { folder: process.argv[2], outside: { Error } });
const run = promisify(notebook.eval).bind(notebook);
for (const [i, cell] of cells.entries()) {
  strictEqual(await run(`${cell}\n`, notebook.context, `cell ${i}`), expected[i]);
}
notebook.close();
process.stdout.write(`${cells.length} cells of a notebook\n`);
