// How often calls about a small index wait for storage, one request after the other, in the library and over HTTP.

import { createClient, generateKey } from "sealdex/core";
import { createApp } from "sealdex-server";
import { createWaveStore } from "../cold/wave-store.mjs";

/** Creates the index and deletes it again. */
export async function waitsOf(inner, { address, items, query }) {
  const { store, measure } = createWaveStore(inner);
  const open = () => createClient({ indexLocation: store, automaticTraining: false });
  const count = async (work) => (await measure(work)).waits;
  const client = open();
  let index;
  const create = await count(async () => (index = await client.createIndex(address)));
  const upsert = await count(() => index.upsert(items));
  await client.close();
  const other = open();
  const waits = {
    create,
    upsert,
    open: await count(async () => (index = await other.loadIndex(address))),
    firstQuery: await count(() => index.query(query)),
    query: await count(() => index.query(query)),
    overHttp: await count(await requestTo(open(), address, query)),
  };
  await other.deleteIndex(address);
  await other.close();
  return waits;
}

/** A first query, ready to be sent. */
async function requestTo(client, { indexName, indexKey }, { queryVector, topK }) {
  const apiKey = generateKey();
  const app = await createApp({ client, apiKeys: [apiKey], version: "bench" });
  const baseUrl = await app.listen({ host: "127.0.0.1", port: 0 });
  return async () => {
    const response = await fetch(`${baseUrl}/v1/vectors/query`, {
      method: "POST",
      headers: { "X-API-Key": apiKey, "Content-Type": "application/json" },
      body: JSON.stringify({
        index_name: indexName,
        index_key: indexKey,
        query_vectors: queryVector,
        top_k: topK,
      }),
    });
    if (response.status !== 200) throw new Error(await response.text());
    await response.arrayBuffer();
    await app.close();
    await client.close();
  };
}
