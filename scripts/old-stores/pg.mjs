// Stands in for the package pg and a table of LangChain's PGVectorStore: answers the query of docs/migrating.md from
// recorded rows, one row at a time. A column of the type vector comes as a text, as it does from PostgreSQL.

import { rowsOf } from "./rows.mjs";

class Pool {
  async query(select, [after]) {
    if (!/^SELECT id, text, metadata, embedding FROM notes\s+WHERE .* ORDER BY id LIMIT \d+$/.test(select)) {
      throw new Error(`another query than the recorded one: ${select}`);
    }
    const next = rowsOf("pgvector").find(({ id }) => after === null || id > after);
    if (!next) return { rows: [] };
    const { vector, ...row } = next;
    return { rows: [{ ...row, embedding: JSON.stringify(vector) }] };
  }

  async end() {}
}

export default { Pool };
