// Many tenants in one place, each with an index and a key of its own: no filter to forget, and a tenant whose key is
// destroyed is gone for good.
//
// Run: node multi-tenant.mjs        Needs: npm install sealdex @langchain/core

import { createClient, EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

const client = createClient({ indexLocation: { location: "memory" } }); // one for all; for example s3 and postgres
const embeddings = new SealdexEmbeddings();
const keys = new Map(); // in production: a key-management service, or the tenants themselves

function storeOf(tenant, limits = {}) {
  if (!keys.has(tenant)) keys.set(tenant, generateKey());
  return new EncryptedVectorStore(embeddings, {
    indexName: `tenant-${tenant}`,
    indexKey: keys.get(tenant),
    client,
    ...limits,
  });
}

await storeOf("ann").addTexts(["Ann's plan for March"], { status: "published" });
await storeOf("ann").addTexts(["Ann's draft for April"], { status: "draft" });
await storeOf("bob").addTexts(["Bob's plan for March"], { status: "published" });

for (const tenant of ["ann", "bob"]) {
  // Within a tenant, a filter that every call of this store keeps to, writes too:
  const published = storeOf(tenant, { filter: { status: "published" } });
  const found = await published.similaritySearch("plan or draft", 10);
  console.log(
    tenant,
    found.map(({ pageContent }) => pageContent),
  );
}
const trespass = { indexName: "tenant-bob", indexKey: keys.get("ann"), client };
await EncryptedVectorStore.fromExistingIndex(embeddings, trespass).catch(({ code }) =>
  console.log("Bob's index under Ann's key:", code),
);
await client.deleteIndex({ indexName: "tenant-bob", indexKey: keys.get("bob") });
console.log("Left:", await client.listIndexes());
await client.close();
