/**
 * The key of the service: with it, requests need not carry index keys. A request without `index_key` means the indexes whose key
 * the service's key provider keeps.
 */

import { type Client, generateKey, type IndexKey, type KeyProvider } from "sealdex/core";
import type { Server } from "./http-server.js";

/** Fills in `index_key` where a request has none, and returns a client that takes that for the provider. */
export function useServiceKey(scope: Server, client: Client, provider: KeyProvider): Client {
  // Random, so that no request can be meant by it that has a key of its own.
  const standIn = generateKey();
  scope.addHook("preValidation", async ({ body }) => {
    if (typeof body !== "object" || body === null || !Object.hasOwn(body, "index_name")) return;
    const request = body as Record<string, unknown>;
    request["index_key"] ??= standIn;
  });
  const resolve = <T extends { readonly indexKey: IndexKey }>(options: T): T =>
    options.indexKey === standIn ? { ...options, indexKey: provider } : options;
  return {
    kind: client.kind,
    createIndex: (options) => client.createIndex(resolve(options)),
    loadIndex: (options) => client.loadIndex(resolve(options)),
    deleteIndex: (options) => client.deleteIndex(resolve(options)),
    listIndexes: (options) => client.listIndexes(options),
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}
