/** A table of PostgreSQL with a column of pgvector, by default as LangChain's PGVectorStore has it. */

import type { Client } from "pg";
import { type FieldNames, fieldOf, splitFields } from "../fields.js";
import { parseJson } from "../json-values.js";
import {
  invalid,
  type Cursor,
  peerMissing,
  type Row,
  type Source,
  type SourceDescription,
} from "../source.js";

const pageRows = 1000;

export class PgvectorSource implements Source {
  readonly name: string;
  readonly #connectionString: string;
  readonly #table: readonly string[];
  readonly #names: FieldNames;
  #client: Promise<Client> | undefined;

  /** `postgres://host/database?table=schema.name`. The password may come from `PGPASSWORD`. */
  constructor(url: URL, names: FieldNames) {
    const table = url.searchParams.get("table");
    if (!table) throw invalid("pgvector: expected postgres://host/database?table=name");
    url.searchParams.delete("table");
    this.#connectionString = url.href;
    this.#table = table.split(".");
    this.#names = names;
    this.name = `pgvector:${url.host}${url.pathname} ${table}`;
  }

  get #quotedTable(): string {
    return this.#table.map(quoted).join(".");
  }

  async describe(): Promise<SourceDescription> {
    const client = await this.#connect();
    const { rows } = await client.query<{ count: string }>(`SELECT count(*) FROM ${this.#quotedTable}`);
    return { rows: Number(rows[0].count), metric: undefined, version: JSON.stringify(await this.#columns()) };
  }

  /** The cursor is the last id, in the order of the column. */
  async *rows(after?: Cursor): AsyncGenerator<Row, void, undefined> {
    const client = await this.#connect();
    const columns = await this.#columns();
    const record = Object.fromEntries(columns.map((name) => [name, null]));
    const id = fieldOf(record, "id", this.#names);
    if (id === undefined) throw invalid("--id-field: expected a column with unique values");
    const [wanted, idName] = [columns.map(quoted).join(", "), quoted(id)];
    const select = (where: string) =>
      `SELECT ${wanted}, ${idName}::text AS "${cursorColumn}" FROM ${this.#quotedTable} ${where} ORDER BY ${idName} LIMIT ${pageRows}`;
    for (let last = after; ;) {
      const { rows } = await (last === undefined
        ? client.query<Record<string, unknown>>(select(`WHERE ${idName} IS NOT NULL`))
        : client.query<Record<string, unknown>>(select(`WHERE ${idName} > $1`), [last]));
      for (const { [cursorColumn]: cursor, ...row } of rows) {
        last = cursor as string;
        yield { ...splitFields({ ...row, [id]: last }, this.#names), cursor: last };
      }
      if (rows.length < pageRows) return;
    }
  }

  async #columns(): Promise<string[]> {
    const client = await this.#connect();
    const { fields } = await client.query(`SELECT * FROM ${this.#quotedTable} LIMIT 0`);
    return fields.map(({ name }) => name);
  }

  #connect(): Promise<Client> {
    return (this.#client ??= connect(this.#connectionString));
  }

  async close(): Promise<void> {
    await (await this.#client)?.end();
  }
}

const cursorColumn = "sealdex_cursor";

/** The types json and jsonb, whose integers may be longer than a number of JavaScript. */
const jsonTypes = [114, 3802];

async function connect(connectionString: string): Promise<Client> {
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    throw peerMissing("pg", cause);
  });
  const client = new pg.Client({ connectionString });
  for (const type of jsonTypes) client.setTypeParser(type, parseJson);
  await client.connect();
  return client;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
