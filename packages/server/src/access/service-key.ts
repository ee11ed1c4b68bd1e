/**
 * The service's own index key: requests without `index_key` then use the service's key provider.
 */

import { type Client, generateKey, type IndexKey, type KeyProvider, SealdexError } from "sealdex/core";
import type { Server } from "../http/http-server.js";

/**
 * Fills in `index_key` for requests without one, lets the OpenAPI document say so, and returns a client that maps it to the provider.
 */
export function useServiceKey(scope: Server, client: Client, provider: KeyProvider): Client {
  // Random, so that it cannot equal the key of any request.
  const standIn = generateKey();
  const indexKey = blamingService(provider);
  scope.addHook("onRoute", (route) => {
    const body = route.schema?.body as { readonly required?: readonly string[] } | undefined;
    const required = body?.required?.filter((name) => name !== "index_key");
    if (required !== undefined) route.schema = { ...route.schema, body: { ...body, required } };
  });
  scope.addHook("preValidation", async ({ body }) => {
    if (typeof body !== "object" || body === null || !Object.hasOwn(body, "index_name")) return;
    const request = body as Record<string, unknown>;
    request["index_key"] ??= standIn;
  });
  const resolve = <T extends { readonly indexKey: IndexKey }>(options: T): T =>
    options.indexKey === standIn ? { ...options, indexKey } : options;
  return {
    kind: client.kind,
    createIndex: (options) => client.createIndex(resolve(options)),
    loadIndex: (options) => client.loadIndex(resolve(options)),
    deleteIndex: (options) => client.deleteIndex(resolve(options)),
    createCollection: (options) => client.createCollection(resolve(options)),
    loadCollection: (options) => client.loadCollection(resolve(options)),
    deleteCollection: (options) => client.deleteCollection(resolve(options)),
    splitShards: (options) => client.splitShards(resolve(options)),
    listIndexes: (options) => client.listIndexes(options),
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/**
 * A provider that lacks its key, or refuses the service, is no fault of a request: 404 and 403
 * would blame it.
 */
function blamingService(provider: KeyProvider): KeyProvider {
  const asked = async (answer: Promise<Uint8Array>): Promise<Uint8Array> => {
    try {
      return await answer;
    } catch (cause) {
      if (!(cause instanceof SealdexError) || cause.code === "wrong_index_key") throw cause;
      throw new SealdexError("storage_unavailable", cause.message, { cause });
    }
  };
  return {
    name: provider.name,
    wrap: (key, context) => asked(provider.wrap(key, context)),
    unwrap: (wrapped, context) => asked(provider.unwrap(wrapped, context)),
  };
}
