// Stands in for the package @pinecone-database/pinecone: the calls that docs/migrating.md makes, answered from recorded
// rows, one id per page.

import { rowsOf } from "./rows.mjs";

export class Pinecone {
  index({ name }) {
    if (name !== "notes") throw new Error(`${name}: no such index`);
    const rows = rowsOf("pinecone");
    return {
      async listPaginated({ paginationToken = "0" }) {
        const next = Number(paginationToken) + 1;
        return {
          vectors: rows.slice(next - 1, next).map(({ id }) => ({ id })),
          ...(next < rows.length && { pagination: { next: String(next) } }),
        };
      },
      async fetch({ ids }) {
        const found = rows.filter(({ id }) => ids.includes(id));
        const records = found.map(({ id, vector, text, metadata }) => {
          return [id, { id, values: vector, metadata: { ...metadata, text } }];
        });
        return { records: Object.fromEntries(records) };
      },
    };
  }
}
