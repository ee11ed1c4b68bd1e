/** The index that a request is about, and the key that it sends for it: in its body, or in its path and a header. */

import type { FastifyRequest } from "fastify";
import { addressIn } from "sealdex/wire";

export function addressOf({ body, params, headers }: FastifyRequest): ReturnType<typeof addressIn> {
  const { indexName, indexKey } = addressIn(body);
  const { name } = (params ?? {}) as { readonly name?: string };
  const { "x-index-key": header } = headers;
  return {
    indexName: indexName ?? name,
    indexKey: indexKey ?? (typeof header === "string" ? header : undefined),
  };
}
