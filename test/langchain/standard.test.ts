/** The standard tests on every type of index, under every metric, embedded and over HTTP. */

import { afterAll } from "vitest";
import { createClient, EncryptedVectorStore, generateKey } from "../../src/index.js";
import { startService } from "../http/service.js";
import { standardTests } from "./standard.js";

const service = await startService();
const client = createClient({ indexLocation: { location: "memory" } });
afterAll(() => Promise.all([service.close(), client.close()]));

const places = {
  embedded: { client },
  "over HTTP": { baseUrl: service.baseUrl, apiKey: service.apiKey },
};
let made = 0;

for (const [where, place] of Object.entries(places)) {
  for (const indexType of ["ivfflat", "ivf", "ivfpq"] as const) {
    for (const metric of ["cosine", "euclidean", "squared_euclidean"] as const) {
      standardTests(`${indexType}, ${metric}, ${where}`, (embeddings) => {
        const indexName = `standard ${made++}`;
        return new EncryptedVectorStore(embeddings, {
          indexName,
          indexKey: generateKey(),
          indexType,
          metric,
          ...(indexType === "ivfpq" && { indexConfigParams: { pqDim: 4 } }),
          ...place,
        });
      });
    }
  }
}
