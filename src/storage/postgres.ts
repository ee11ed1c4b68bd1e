/**
 * Blobs in a table of PostgreSQL:
 *
 *     key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL, stored EXTERNAL
 *
 * The collation is the order of bytes. Values are ciphertext, which does not compress; stored as they are, a
 * part of one is read without the rest. Every statement is a transaction of its own and needs nothing of the
 * session, so a pooler that hands out connections by transaction may stand in between.
 */

import { SealdexError } from "../errors.js";
import type { BlobStore } from "./blob-store.js";
import { codeOf, noCode, TimeoutError, unavailable, within } from "./failure.js";
import { createSemaphore } from "./semaphore.js";
import { checkKey, checkPrefix } from "./key.js";
import { checkPeer, type PeerPackage, peerFailure } from "../peer-package.js";
import { isError } from "../value-kinds.js";

/** Operations in progress at once, and connections of a pool that the driver creates. */
const operationsMax = 10;
const connectTimeoutMs = 10_000;
const timeoutMsDefault = 30_000;
const closeTimeoutMs = 3_000;
/** Far beyond any blob, and what PostgreSQL calls an integer. */
const positionMax = 2 ** 30;
const keysAtOnce = 1_000;

/** What is used of a `Pool` of pg. */
export interface PostgresPool {
  query(query: { text: string; values?: unknown[]; query_timeout?: number }): Promise<{
    readonly rows: readonly unknown[];
    readonly rowCount: number | null;
  }>;
}

export interface PostgresStoreOptions {
  /** Needed unless there is a client. */
  readonly connectionString?: unknown;
  /** The caller's own, which stays open. */
  readonly client?: PostgresPool | undefined;
  /** A table, or a schema and a table with a point in between; made if absent. */
  readonly tableName?: unknown;
  /** After which an operation times out. */
  readonly timeoutMs?: number;
}

/** Throws `invalid_request` for a connection string or a table name that is none. Connects at the first call. */
export function createPostgresStore(options: PostgresStoreOptions): BlobStore {
  const { client, tableName = "sealdex", timeoutMs = timeoutMsDefault } = options;
  const table = quoteTableName(tableName);
  const connectionString = client === undefined ? checkConnectionString(options.connectionString) : "";
  const semaphore = createSemaphore(operationsMax);
  const running = new Set<Promise<unknown>>();
  let opening: Promise<{ pool: PostgresPool; close: () => Promise<void> }> | undefined;

  async function query(pool: PostgresPool, text: string, values: unknown[]) {
    // On a time-out, pg closes the connection together with the statement.
    return within(timeoutMs + connectTimeoutMs, pool.query({ text, values, query_timeout: timeoutMs }));
  }

  async function open() {
    const opened =
      client === undefined
        ? await createPool(connectionString, running)
        : { pool: client, close: async () => {} };
    try {
      await createTable(opened.pool);
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /** Of processes that do so at once, one creates the table. A user without the right to create tables can use an existing one. */
  async function createTable(pool: PostgresPool): Promise<void> {
    const { rows } = await query(pool, "SELECT to_regclass($1) IS NOT NULL AS there", [table]);
    if ((rows[0] as { there: boolean }).there) return;
    const statements = [
      // Creating a table that another transaction creates can fail in spite of IF NOT EXISTS.
      `SELECT pg_advisory_xact_lock(${tableLock})`,
      `CREATE TABLE IF NOT EXISTS ${table} (key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL)`,
      `ALTER TABLE ${table} ALTER COLUMN value SET STORAGE EXTERNAL`,
    ];
    // Sent together, without values, they are one transaction.
    await within(
      timeoutMs + connectTimeoutMs,
      pool.query({ text: statements.join("; "), query_timeout: timeoutMs }),
    );
  }

  function run<T>(operation: string, work: (pool: PostgresPool) => Promise<T>): Promise<T> {
    const result = semaphore(async () => {
      try {
        const current = (opening ??= open());
        const { pool } = await current.catch((error) => {
          if (opening === current) opening = undefined;
          throw error;
        });
        return await work(pool);
      } catch (error) {
        throw translate(operation, error);
      }
    });
    running.add(result);
    const ended = () => running.delete(result);
    result.then(ended, ended);
    return result;
  }

  return {
    read(key, range) {
      return run(`read ${key}`, async (pool) => {
        checkKey(key);
        const values = [key, Math.min(range.offset, positionMax - 1) + 1, range.length];
        // pg reads results as text; as base64 a value takes half the time that bytea's own notation does.
        const text = `SELECT encode(substring(value FROM $2 FOR $3), 'base64') AS value FROM ${table} WHERE key = $1`;
        const { rows } = await query(pool, text, values);
        return rows.length === 0 ? null : plain(Buffer.from((rows[0] as { value: string }).value, "base64"));
      });
    },

    create(key, bytes) {
      return run(`create ${key}`, async (pool) => {
        checkKey(key);
        const text = `INSERT INTO ${table} (key, value) SELECT $1, $2::bytea WHERE ${isDurable} ON CONFLICT DO NOTHING`;
        const { rowCount } = await query(pool, text, [key, bufferOf(bytes)]);
        return rowCount === 1;
      });
    },

    list(prefix, { limit = Infinity, after = "" } = {}) {
      return run(`list ${prefix}`, async (pool) => {
        checkPrefix(prefix);
        // "~" comes after every character of a key.
        const text = `SELECT key FROM ${table} WHERE key >= $1 AND key < $2 AND key > $3 ORDER BY key LIMIT $4`;
        const values = [prefix, `${prefix}~`, after, limit === Infinity ? null : limit];
        const { rows } = await query(pool, text, values);
        return rows.map((row) => (row as { key: string }).key);
      });
    },

    async delete(keys) {
      keys.forEach(checkKey);
      for (let i = 0; i < keys.length; i += keysAtOnce) {
        const text = `DELETE FROM ${table} WHERE key = ANY($1) AND ${isDurable}`;
        await run(`delete ${keys[i]}`, (pool) => query(pool, text, [keys.slice(i, i + keysAtOnce)]));
      }
    },

    async close() {
      await opening?.then(
        (opened) => opened.close(),
        () => undefined, // It never opened; the caller was told.
      );
    },
  };
}

/** "seal" in ASCII. */
const tableLock = 0x7365616c;

/** True, and makes the transaction wait for the disk even if the database is configured not to. */
const isDurable =
  "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) = 'on' ELSE true END";

const meanings: Readonly<Record<string, string>> = {
  "25006": "the session is read-only: it is at a standby, or has default_transaction_read_only",
  "28000": "the server refused the user",
  "28P01": "the server refused the credentials",
  "3D000": "there is no such database",
  "3F000": "there is no such schema",
  "42501": "the user may not do that with the table",
  "42703": "the table has other columns than Sealdex gives it",
  "42P01": "the table is gone",
  "53100": "the server's disk is full",
  "53300": "the server has no connection left",
  "57P01": "the server is shutting down",
  "57P03": "the server is starting",
};

/** Credentials, databases, schemas, rights, tables and values that are not as they have to be; a session that only reads; a full disk. */
const refusals = /^(0A|22|28|3D|3F|42|54)|^(25006|53100)$/;

function translate(operation: string, error: unknown): SealdexError {
  const code = codeOf(error);
  if (code === "ERR_INVALID_URL" || code === "URIError") return malformed();
  // What pg finds out by itself has no code.
  const said = code === noCode && isError(error) ? error.message : "";
  const cause = /timeout/i.test(said)
    ? new TimeoutError()
    : said.startsWith("Connection terminated")
      ? Object.assign(new Error(), { code: "ECONNRESET" })
      : error;
  return unavailable("postgres", operation, cause, meanings, refusals);
}

const pgPackage: PeerPackage = {
  name: "pg",
  range: "^8.11.0",
  feature: "storage location postgres",
  exports: ["Pool"],
};

async function loadPg() {
  try {
    return checkPeer(await import("pg"), pgPackage);
  } catch (cause) {
    throw peerFailure(cause, pgPackage);
  }
}

async function createPool(connectionString: string, running: ReadonlySet<Promise<unknown>>) {
  const { Pool } = await loadPg();
  const pool = new Pool({
    connectionString,
    max: operationsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  });
  // A connection that breaks while idle is replaced by the pool; without a listener the process would end.
  pool.on("error", () => undefined);
  return { pool, close: () => end(pool, running) };
}

/**
 * Waits for operations under way, which an ended pool would leave without an answer, and for the server to take leave, but not for
 * a server that does not answer.
 */
async function end(pool: { end(): Promise<void> }, running: ReadonlySet<Promise<unknown>>): Promise<void> {
  try {
    await within(
      closeTimeoutMs,
      Promise.allSettled(running).then(() => pool.end()),
    );
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
  }
}

function checkConnectionString(connectionString: unknown): string {
  if (typeof connectionString === "string" && /^(postgres|postgresql|socket):/i.test(connectionString)) {
    return connectionString;
  }
  throw malformed();
}

function malformed(): SealdexError {
  return new SealdexError(
    "invalid_request",
    "storage location postgres: expected connectionString to be postgres://, user:password@ (percent-encoded) if needed, " +
      "host:port/database, and ?sslmode= and the like",
  );
}

/** Quoted, so that a name means exactly what it says: upper case stays, and a keyword is a name. */
function quoteTableName(name: unknown): string {
  const part = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;
  const parts = typeof name === "string" ? name.split(".") : [];
  if (parts.length >= 1 && parts.length <= 2 && parts.every((text) => part.test(text))) {
    return parts.map((text) => `"${text}"`).join(".");
  }
  throw new SealdexError(
    "invalid_request",
    "storage location postgres: expected tableName to be a table, or a schema and a table joined by a point, each of 1 to " +
      "63 letters, digits, _ and $",
  );
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** A Buffer's `slice` shares its memory; that of what a store returns must not. */
function plain(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}
