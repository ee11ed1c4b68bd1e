/** Every import of the package; compiled, never run. */

import type { EncryptedVectorStore } from "sealdex";
import { createClient as createHttpClient } from "sealdex/client";
import { createClient, type VectorIndex } from "sealdex/core";
import type { EncryptedStore } from "sealdex/langgraph";
import { storageConformance } from "sealdex/storage/conformance";
import { SealdexError } from "sealdex/core";

export async function use(store: EncryptedVectorStore, memory: EncryptedStore): Promise<VectorIndex> {
  const client = createClient({ indexLocation: { location: "memory" } });
  const remote = createHttpClient({ baseUrl: "http://127.0.0.1:8000", apiKey: "a" });
  if (typeof storageConformance !== "function") throw new SealdexError("internal", "no suite");
  await Promise.all([store.close(), memory.stop(), remote.close()]);
  return client.loadIndex({ indexName: "a", indexKey: "b" });
}
