// Stands in for the package chromadb: the calls that docs/migrating.md makes, answered from recorded rows.

import { rowsOf } from "./rows.mjs";

export class ChromaClient {
  async getCollection({ name }) {
    if (name !== "notes") throw new Error(`${name}: no such collection`);
    const all = rowsOf("chroma");
    return {
      count: async () => all.length,
      async get({ include, limit, offset }) {
        const rows = all.slice(offset, offset + limit);
        const one = (field, value) => (include.includes(field) ? value : null);
        return {
          rows: () =>
            rows.map(({ id, vector, text, metadata }) => ({
              id,
              embedding: one("embeddings", vector),
              document: one("documents", text),
              metadata: one("metadatas", metadata),
            })),
        };
      },
    };
  }
}
