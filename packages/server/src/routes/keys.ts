/**
 * `/v1/keys`: issues, lists and revokes API keys. For admin keys without a limit to some indexes.
 */

import { SealdexError } from "sealdex/core";
import { entryTexts, yieldIfDue } from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { type Caller, checkUnlimited } from "../access/caller.js";
import type { IssuedKeys } from "../access/issued-keys.js";
import type { KeyRecord } from "../access/key-record.js";
import type { KeyStore } from "../access/key-store.js";
import { type ReadLimits, sendJson } from "../http/results.js";
import * as schemas from "../schemas/keys.js";
import type { Services } from "./services.js";

export function addKeyRoutes(app: Server, { issued, reading }: Services): void {
  app.post("/v1/keys", { schema: schemas.createKey }, async (request) => {
    const { body, caller } = request;
    const { store } = issuedBy(issued, caller);
    const { apiKey, record } = await store.create(schemas.decodeKey(body));
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

/** Paging of a request. */
interface PageQuery {
  readonly limit?: string;
  readonly after?: string;
}

/** Encodes some records, in the order of their ids; may skip some. */
type Encode = (records: readonly KeyRecord[]) => readonly object[] | Promise<readonly object[]>;

/** Memory of a text besides two bytes per character. */
const textBytes = 100;

/** The JSON of each entry. Throws `too_large` if there are too many for one response. */
export async function keyTexts(
  store: KeyStore,
  { limit, after }: PageQuery,
  { signal, reserveBytes }: ReadLimits,
  encode: Encode,
): Promise<readonly string[]> {
  const wanted = limit === undefined ? Infinity : Number(limit);
  const texts: string[] = [];
  if (wanted === 0) return texts;
  for await (const { records } of store.pages({ after, limit: wanted, signal })) {
    signal.throwIfAborted();
    for (const entry of await encode(records)) {
      const text = JSON.stringify(entry);
      await reserveBytes(textBytes + 2 * text.length);
      if (texts.push(text) === wanted) return texts;
      await yieldIfDue();
    }
  }
  return texts;
}
