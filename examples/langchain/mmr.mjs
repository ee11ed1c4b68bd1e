// Maximal marginal relevance: results that are near the query and unlike one another.
//
// Run: node mmr.mjs        Needs: npm install sealdex @langchain/core

import { EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

// In memory, the key may end with the process. For an index that lasts: fileKey("./notes.key", { create: true })
const indexKey = generateKey();
const store = await EncryptedVectorStore.fromTexts(
  [
    "Rotate the encryption keys every year.",
    "Rotate the encryption keys each year.",
    "Encryption keys: rotate them every year.",
    "Back up the encryption keys in two places.",
    "Keys of the office door hang in the kitchen.",
  ],
  {},
  new SealdexEmbeddings(),
  { indexName: "advice", indexKey, indexLocation: { location: "memory" } },
);

const query = "What do I do with encryption keys every year?";
const print = (title, documents) =>
  console.log([title, ...documents.map(({ pageContent }) => `  ${pageContent}`)].join("\n"));

print("Nearest:", await store.similaritySearch(query, 3));
print("Near and different:", await store.maxMarginalRelevanceSearch(query, { k: 3, fetchK: 5, lambda: 0.3 }));

const retriever = store.asRetriever({ searchType: "mmr", k: 3, searchKwargs: { fetchK: 5, lambda: 0.3 } });
print("The same as a retriever:", await retriever.invoke(query));
await store.close();
