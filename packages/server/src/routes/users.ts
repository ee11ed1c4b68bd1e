/** `/v1/indexes/{name}/users`: API keys for one index, as clients of the specification's interface manage them. */

import { generateKey, SealdexError } from "sealdex/core";
import { entryTexts } from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import type { KeyRecord } from "../access/key-record.js";
import { sendJson } from "../http/results.js";
import * as schemas from "../schemas/keys.js";
import { issuedBy, keyTexts } from "./keys.js";
import type { Services } from "./services.js";

const path = "/v1/indexes/:name/users";

export function addUserRoutes(app: Server, { client, indexes, issued, reading }: Services): void {
  /** Throws `not_found`, or `wrong_index_key` for a key that does not open the index. */
  async function checkIndex(indexName: string, indexKey: string | null | undefined): Promise<void> {
    if (typeof indexKey === "string") return indexes.use({ indexName, indexKey }, async () => undefined);
    // Only an existing index refuses a random key. Listing all indexes could take long.
    await client.loadIndex({ indexName, indexKey: generateKey() }).catch((error: unknown) => {
      if (!(error instanceof SealdexError && error.code === "wrong_index_key")) throw error;
    });
  }

  app.post(path, { schema: schemas.createUser }, async (request) => {
    const { params, body, caller } = request;
    const { name } = params;
    const { store } = issuedBy(issued, caller);
    const { scopes, indexKey } = schemas.decodeUser(body);
    await checkIndex(name, indexKey);
    const details = { name: `user of ${name}`, scopes, indexes: [name] };
    const { apiKey, record } = await store.create(details);
    request.subjectKey = record.id;
    return schemas.encodeNewUser(apiKey, record);
  });

  app.get(path, { schema: schemas.listUsers }, async ({ params, headers, caller, query }, reply) => {
    const { store } = issuedBy(issued, caller);
    await checkIndex(params.name, headers["x-index-key"]);
    const texts = await keyTexts(store, query, reading(reply), (records) =>
      records.filter((record) => isUserOf(record, params.name)).map(schemas.encodeUser),
    );
    return sendJson(reply, entryTexts("users", texts));
  });

  app.delete(`${path}/:id`, { schema: schemas.deleteUser }, async ({ params, headers, caller }, reply) => {
    const keys = issuedBy(issued, caller);
    await checkIndex(params.name, headers["x-index-key"]);
    const record = await keys.store.read(params.id);
    if (record === undefined || !isUserOf(record, params.name)) {
      throw new SealdexError("not_found", `index "${params.name}": there is no user with this id`);
    }
    await keys.revoke(params.id);
    return reply.code(204).send(null);
  });
}

/** Whether the key is for this index only, and no admin key. */
function isUserOf({ indexes, scopes }: KeyRecord, indexName: string): boolean {
  return indexes?.length === 1 && indexes[0] === indexName && !scopes.includes("admin");
}
