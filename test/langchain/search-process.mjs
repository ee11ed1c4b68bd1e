// Another process, which opens a store by its key and searches it. Uses the build.

import { EncryptedVectorStore } from "sealdex";

const [indexKey, path] = process.argv.slice(2);
const args = { indexName: "two", indexKey, indexLocation: { location: "local", path } };
const store = await EncryptedVectorStore.fromExistingIndex("sealdex/lexical-512", args);
process.stdout.write(JSON.stringify(await store.similaritySearchWithScore("encryption keys", 3)));
await store.close();
