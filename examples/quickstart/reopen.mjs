// Opens the index in a process of its own: arguments are path, index name, question and k.

import { EncryptedVectorStore } from "sealdex";

const [path, indexName, question, k] = process.argv.slice(2);
const store = await EncryptedVectorStore.fromExistingIndex("default", {
  indexName,
  indexKey: process.env.SEALDEX_QUICKSTART_KEY,
  indexLocation: { location: "local", path },
});
const documents = await store.similaritySearch(question, Number(k));
console.log(JSON.stringify(documents.map(({ id }) => id)));
await store.close();
