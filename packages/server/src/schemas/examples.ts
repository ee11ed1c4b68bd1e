/**
 * Example bodies of the OpenAPI document: the first ones work in this order. Without them, the pages at `/docs` offer bodies with
 * every field, which the service refuses.
 */

const keyHint = "from sealdex-server generate-key";
const address = { index_name: "articles", index_key: keyHint };
const ofVectors = { ...address, index_name: "vectors" };
const batch = { vectors_b64: "AACAPwAAAAA=", dimension: 2 };

const examples: Readonly<Record<string, object>> = {
  "/v1/indexes/create": { ...address, embedding_model: "default", metric: "cosine" },
  "/v1/vectors/upsert": {
    ...address,
    items: [
      { id: "keys", contents: "Rotate encryption keys every year.", metadata: { topic: "security" } },
      { id: "fish", contents: "The salmon swims up the river.", metadata: { topic: "nature" } },
    ],
  },
  "/v1/vectors/query": { ...address, query_contents: "how often should I change keys?", top_k: 3 },
  "/v1/vectors/query_metadata": { ...address, filters: { topic: "security" } },
  "/v1/vectors/get": { ...address, ids: ["keys"] },
  "/v1/vectors/update": { ...address, ids: ["fish"], metadata: { topic: "animals" } },
  "/v1/vectors/delete": { ...address, ids: ["fish"] },
  "/v1/vectors/upsert_binary": { ...ofVectors, batch: { ids: ["a"], ...batch } },
  "/v1/vectors/query_binary": { ...ofVectors, batch, top_k: 3 },
  "/v1/indexes/split": { ...address, index_name: "collection", shards: 4 },
  "/v1/indexes/rotate_key": { ...address, new_index_key: keyHint },
  "/v1/indexes/erase": { ...address, namespace: "ann" },
  "/v1/indexes/read_receipt": { ...address, receipt: "of erase" },
  "/v1/indexes/wraps/add": { ...address, name: "reporting", wrap_key: keyHint, access: "read-only" },
  "/v1/indexes/wraps/revoke": { ...address, name: "reporting" },
  "/v1/keys": { name: "search frontend", scopes: ["read"] },
  "/v1/indexes/:name/users": { permissions: ["read"] },
  "/v1/admin/open-indexes": { names: ["articles"] },
};

/** The shape of the body of a path, with an example. */
export function withExample(body: object, path: string): object {
  const { required = [] } = body as { readonly required?: readonly string[] };
  const fields = Object.entries(examples[path] ?? address);
  // A service with a key provider requires none.
  const given = fields.filter(([name]) => name !== "index_key" || required.includes(name));
  return { ...body, examples: [Object.fromEntries(given)] };
}
