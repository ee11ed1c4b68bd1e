/** The scope of each endpoint. The service does not start with an endpoint that is missing here. */

import type { Scope } from "./caller.js";

const readOrWrite = ["read", "write"] as const;

const table: Readonly<Record<string, readonly Scope[]>> = {
  "GET /v1/indexes/list": readOrWrite,
  "GET /v1/indexes/training-status": readOrWrite,
  "GET /v1/embedding-models": readOrWrite,
  "GET /metrics": readOrWrite,
  "POST /v1/indexes/describe": readOrWrite,
  "POST /v1/indexes/anchor": readOrWrite,
  "POST /v1/indexes/create": ["write"],
  "POST /v1/indexes/train": ["write"],
  "POST /v1/indexes/compact": ["write"],
  "POST /v1/indexes/split": ["admin"],
  "POST /v1/indexes/namespaces": ["read"],
  "POST /v1/indexes/read_receipt": readOrWrite,
  "POST /v1/indexes/erase": ["write"],
  "POST /v1/indexes/rotate_key": ["admin"],
  "POST /v1/indexes/reencrypt": ["admin"],
  "POST /v1/indexes/wraps/add": ["admin"],
  "POST /v1/indexes/wraps/list": ["admin"],
  "POST /v1/indexes/wraps/revoke": ["admin"],
  "POST /v1/indexes/delete": ["admin"],
  "POST /v1/vectors/query": ["read"],
  "POST /v1/vectors/query_binary": ["read"],
  "POST /v1/vectors/query_metadata": ["read"],
  "POST /v1/vectors/get": ["read"],
  "POST /v1/vectors/list": ["read"],
  "POST /v1/vectors/list_ids": ["read"],
  "POST /v1/vectors/num_vectors": ["read"],
  "POST /v1/vectors/upsert": ["write"],
  "POST /v1/vectors/upsert_binary": ["write"],
  "POST /v1/vectors/update": ["write"],
  "POST /v1/vectors/delete": ["write"],
  "POST /v1/leaf/search": ["read"],
  "GET /v1/admin/live": ["admin"],
  "GET /v1/admin/locations": ["admin"],
  "POST /v1/admin/open-indexes": ["admin"],
  "GET /v1/admin/audit": ["admin"],
  "POST /v1/keys": ["admin"],
  "GET /v1/keys": ["admin"],
  "DELETE /v1/keys/:id": ["admin"],
  "POST /v1/indexes/:name/users": ["admin"],
  "GET /v1/indexes/:name/users": ["admin"],
  "DELETE /v1/indexes/:name/users/:id": ["admin"],
};

/** Scopes of which a caller needs one. HEAD needs the same as GET. */
export function routeAccess(method: string, url: string): readonly Scope[] {
  const route = `${method === "HEAD" ? "GET" : method} ${url}`;
  if (!Object.hasOwn(table, route)) throw new Error(`${route}: its scope is not listed`);
  return table[route];
}
