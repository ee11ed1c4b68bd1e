/**
 * The standard tests on every type of index, under every metric, embedded and over HTTP: untrained, and with lists that were
 * trained on documents which are gone again.
 */

import type { Embeddings } from "@langchain/core/embeddings";
import { afterAll, expect } from "vitest";
import { type Client, createClient, EncryptedVectorStore, generateKey } from "../../src/index.js";
import { startService } from "../http/service.js";
import { standardTests } from "./standard.js";

const service = await startService();
const embedded = createClient({ indexLocation: { location: "memory" } });
const remote = createClient(service.address);
afterAll(() => Promise.all([service.close(), embedded.close(), remote.close()]));

const clients = { embedded, "over HTTP": remote };
let made = 0;

for (const [where, client] of Object.entries(clients)) {
  for (const indexType of ["ivfflat", "ivf", "ivfpq"] as const) {
    for (const metric of ["cosine", "euclidean", "squared_euclidean"] as const) {
      const newStore = (embeddings: Embeddings) => {
        const address = { indexName: `standard ${made++}`, indexKey: generateKey() };
        const kind = indexType === "ivfpq" ? { indexType, indexConfigParams: { pqDim: 8 } } : { indexType };
        const args = { ...address, client, metric, ...kind };
        return { store: new EncryptedVectorStore(embeddings, args), client, address };
      };
      const name = `${indexType}, ${metric}, ${where}`;
      standardTests(name, (embeddings) => newStore(embeddings).store);
      standardTests(`${name}, trained`, (embeddings) => trained(newStore(embeddings)));
    }
  }
}

async function trained({
  store,
  client,
  address,
}: {
  store: EncryptedVectorStore;
  client: Client;
  address: { indexName: string; indexKey: string };
}): Promise<EncryptedVectorStore> {
  await store.addTexts(Array.from({ length: 60 }, (_, i) => `a text ${i}`));
  const index = await client.loadIndex(address);
  await index.train({ nLists: 4 });
  expect(await index.describe()).toMatchObject({ trained: true, nLists: 4 });
  await store.delete({ deleteAll: true });
  return store;
}
