/** A table of PostgreSQL with a column of pgvector, by default as LangChain's PGVectorStore has it. */

import type { Client, QueryResult } from "pg";
import { SealdexError } from "sealdex/core";
import { type FieldNames, fieldOf, splitFields } from "../fields.js";
import { parseJson } from "../json-values.js";
import { type Cursor, invalid, peerMissing, type Source } from "../source.js";

const pageRows = 1000;
const cursorColumn = "sealdex_cursor";
/** The types bigint, json and jsonb, whose integers may be longer than a number of JavaScript. */
const parsedTypes = [20, 114, 3802];
/** The types date and timestamp have no time zone, and would get that of this machine. */
const textTypes = [1082, 1114];

/** `postgres://host/database?table=schema.name`. The password may come from `PGPASSWORD`. */
export function pgvectorSource(url: URL, names: FieldNames): Source {
  const name = url.searchParams.get("table");
  if (!name) throw invalid("pgvector: expected postgres://host/database?table=name");
  url.searchParams.delete("table");
  const table = name.split(".").map(quoted).join(".");
  let connected: Promise<Client> | undefined;
  const connection = () => (connected ??= connect(url.href));
  const columnsOf = async (client: Client) =>
    (await query(client, `SELECT * FROM ${table} LIMIT 0`)).fields.map((field) => field.name);
  return {
    name: `pgvector:${url.host}${url.pathname} ${name}`,
    async describe() {
      const client = await connection();
      const { rows } = await query(client, `SELECT count(*) FROM ${table}`);
      const version = JSON.stringify(await columnsOf(client));
      return { rows: Number(rows[0].count), metric: undefined, version };
    },
    /** The cursor is the last id, in the order of the column. */
    async *rows(after?: Cursor) {
      const client = await connection();
      const columns = await columnsOf(client);
      const id = fieldOf(Object.fromEntries(columns.map((column) => [column, null])), "id", names);
      if (id === undefined) throw invalid("--id-field: expected a column with unique values");
      const wanted = `${columns.map(quoted).join(", ")}, ${quoted(id)}::text AS ${cursorColumn}`;
      const absent = await query(client, `SELECT FROM ${table} WHERE ${quoted(id)} IS NULL LIMIT 1`);
      if (absent.rowCount !== 0)
        throw invalid(`${id}: expected a value in every row; choose another --id-field`);
      for (let last = after; ;) {
        const where = last === undefined ? "IS NOT NULL" : "> $1";
        const select = `SELECT ${wanted} FROM ${table} WHERE ${quoted(id)} ${where} ORDER BY ${quoted(id)} LIMIT ${pageRows}`;
        const { rows } = await query(client, select, last === undefined ? [] : [last]);
        for (const { [cursorColumn]: cursor, ...row } of rows) {
          last = cursor as string;
          yield { ...splitFields({ ...row, [id]: last }, names), cursor: last };
        }
        if (rows.length < pageRows) return;
      }
    },
    async close() {
      await (await connected)?.end();
    },
  };
}

async function connect(connectionString: string): Promise<Client> {
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    throw peerMissing("pg", cause);
  });
  const client = new pg.Client({ connectionString });
  for (const type of parsedTypes) client.setTypeParser(type, parseJson);
  for (const type of textTypes) client.setTypeParser(type, String);
  // The next query fails too.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

async function query(
  client: Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<QueryResult<Record<string, unknown>>> {
  try {
    return await client.query(text, [...values]);
  } catch (cause) {
    throw new SealdexError("storage_unavailable", `pgvector: ${(cause as Error).message}`, { cause });
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
