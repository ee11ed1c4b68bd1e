/**
 * `/v1/keys`: issues, lists and revokes API keys. For admin keys without a limit to some indexes.
 */

import type { FastifyReply } from "fastify";
import { SealdexError } from "sealdex/core";
import { entryTexts } from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { type Caller, checkUnlimited } from "../access/caller.js";
import type { IssuedKeys } from "../access/issued-keys.js";
import { checkDetails } from "../access/key-details.js";
import { type ReadLimits, sendJson } from "../http/results.js";
import * as schemas from "../schemas/keys.js";
import { keyTexts } from "./key-texts.js";

interface Services {
  readonly issued: IssuedKeys | undefined;
  readonly reading: (reply: FastifyReply) => ReadLimits;
}

export function addKeyRoutes(app: Server, { issued, reading }: Services): void {
  app.post("/v1/keys", { schema: schemas.createKey }, async (request) => {
    const { body, caller } = request;
    const { store } = issuedBy(issued, caller);
    const { apiKey, record } = await store.create(checkDetails(schemas.decodeKey(body), store.now()));
    request.subjectKey = record.id;
    return schemas.encodeNewKey(apiKey, record);
  });

  app.get("/v1/keys", { schema: schemas.listKeys }, async ({ caller, query }, reply) => {
    const { store } = issuedBy(issued, caller);
    const texts = await keyTexts(store, query, reading(reply), async (records) => {
      const lastUses = await store.lastUses.list(records.map(({ id }) => id));
      return records.map((record) => schemas.encodeUsedKey(record, lastUses.get(record.id)));
    });
    return sendJson(reply, entryTexts("keys", texts));
  });

  app.delete("/v1/keys/:id", { schema: schemas.revokeKey }, async ({ params, caller }) => {
    await issuedBy(issued, caller).revoke(params.id);
    return { status: "success", message: `API key ${params.id} revoked successfully` };
  });
}

/**
 * Throws `not_supported` if the service issues no keys, and `forbidden` for a caller that may not
 * manage them.
 */
export function issuedBy(issued: IssuedKeys | undefined, caller: Caller | undefined): IssuedKeys {
  if (caller !== undefined) checkUnlimited(caller);
  if (issued !== undefined) return issued;
  throw new SealdexError("not_supported", "API keys: this service issues none; set SEALDEX_ROOT_KEY");
}
