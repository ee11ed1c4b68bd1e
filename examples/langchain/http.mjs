// The same store on a Sealdex service: { baseUrl, apiKey } instead of locations.
//
// Run: node http.mjs        Needs: npm install sealdex sealdex-server @langchain/core
//
// and the service, which the first of these lines starts:
//   SEALDEX_API_KEYS=at-least-16-letters SEALDEX_INDEX_LOCATION=file:./data npx sealdex-server serve
//   SEALDEX_URL=http://127.0.0.1:8000 SEALDEX_API_KEY=at-least-16-letters node http.mjs

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

// The service has the key while it works, and keeps it nowhere. Here a file keeps it.
if (!existsSync("./http.key")) writeFileSync("./http.key", generateKey(), { mode: 0o600 });

const store = new EncryptedVectorStore(new SealdexEmbeddings(), {
  indexName: `notes-${Date.now()}`,
  indexKey: readFileSync("./http.key", "utf8").trim(),
  baseUrl: process.env.SEALDEX_URL ?? "http://127.0.0.1:8000",
  apiKey: process.env.SEALDEX_API_KEY ?? "at-least-16-letters",
});
await store.addTexts(["Keys are rotated every year.", "Salmon swim upstream."], [{ page: 1 }, { page: 2 }]);
const [[document, score]] = await store.similaritySearchWithScore("How often are keys rotated?", 1);
console.log(score.toFixed(3), document.pageContent);
console.log(await store.asRetriever({ searchType: "mmr", k: 1, filter: { page: 2 } }).invoke("What swims?"));
await store.delete({ deleteAll: true });
