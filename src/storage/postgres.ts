/**
 * Blobs in a table of PostgreSQL:
 *
 *     key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL, stored EXTERNAL
 *
 * The collation is byte order. Values are stored uncompressed, since ciphertext does not compress, so that a
 * range is read without the rest. Every statement is its own transaction and needs no session state, so
 * transaction poolers work.
 */

import { SealdexError } from "../errors.js";
import type { BlobStore } from "./blob-store.js";
import { codeOf, noCode, noTls, TimeoutError, unavailable, withTimeout } from "./failure.js";
import { createSemaphore } from "../async/semaphore.js";
import { checkKey, checkPrefix } from "./key.js";
import { checkPeer, type PeerPackage, peerFailure } from "../checks/peer-package.js";
import { isError } from "../checks/value-kinds.js";

/** Concurrent operations, and connections of a pool that the driver creates. */
const operationsMax = 10;
const connectTimeoutMs = 10_000;
const timeoutMsDefault = 30_000;
const closeTimeoutMs = 3_000;
/** Above any blob, within PostgreSQL's integers. */
const positionMax = 2 ** 30;
const keysAtOnce = 1_000;

/** The members of pg's `Pool` that the driver uses. */
export interface PostgresPool {
  query(query: { text: string; values?: unknown[]; query_timeout?: number }): Promise<{
    readonly rows: readonly unknown[];
    readonly rowCount: number | null;
  }>;
}

export interface PostgresStoreOptions {
  /** Required without `client`. */
  readonly connectionString?: unknown;
  /** The caller's own client, which stays open. */
  readonly client?: PostgresPool | undefined;
  /** A table or `schema.table`; created if absent. */
  readonly tableName?: unknown;
  /** Time limit of an operation. */
  readonly timeoutMs?: number;
}

/**
 * Throws `invalid_request` for an invalid connection string or table name. Connects at the first
 * call.
 */
export function createPostgresStore(options: PostgresStoreOptions): BlobStore {
  const { client, tableName = "sealdex", timeoutMs = timeoutMsDefault } = options;
  const table = quoteTableName(tableName);
  const connectionString = client === undefined ? checkConnectionString(options.connectionString) : "";
  const semaphore = createSemaphore(operationsMax);
  const running = new Set<Promise<unknown>>();
  let opening: Promise<OpenPool> | undefined;

  async function query(pool: PostgresPool, text: string, values: unknown[]) {
    // On a time-out, pg closes the connection together with the statement.
    return withTimeout(timeoutMs + connectTimeoutMs, pool.query({ text, values, query_timeout: timeoutMs }));
  }

  async function open(): Promise<OpenPool> {
    const opened =
      client === undefined ? await createPool(connectionString) : { pool: client, close: async () => {} };
    try {
      await createTable(opened.pool);
      return opened;
    } catch (error) {
      // The running operations wait for this.
      await opened.close([]);
      throw error;
    }
  }

  /**
   * One of several concurrent processes creates the table. Users without the right to create tables
   * can use an existing one.
   */
  async function createTable(pool: PostgresPool): Promise<void> {
    const { rows } = await query(pool, "SELECT to_regclass($1) IS NOT NULL AS there", [table]);
    if ((rows[0] as { there: boolean }).there) return;
    const statements = [
      // IF NOT EXISTS can still fail if another transaction creates the table.
      `SELECT pg_advisory_xact_lock(${tableLock})`,
      `CREATE TABLE IF NOT EXISTS ${table} (key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL)`,
      `ALTER TABLE ${table} ALTER COLUMN value SET STORAGE EXTERNAL`,
    ];
    // Without values, statements sent together are one transaction.
    await withTimeout(
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
        // pg reads results as text; base64 takes half the time of bytea's own notation.
        const text = `SELECT encode(substring(value FROM $2 FOR $3), 'base64') AS value FROM ${table} WHERE key = $1`;
        const { rows } = await query(pool, text, values);
        return rows.length === 0 ? null : plain(Buffer.from((rows[0] as { value: string }).value, "base64"));
      });
    },

    create(key, bytes) {
      return run(`create ${key}`, async (pool) => {
        checkKey(key);
        const text = `INSERT INTO ${table} (key, value) SELECT $1, $2::bytea WHERE ${isDurable} ON CONFLICT DO NOTHING`;
        const { rowCount } = await query(pool, text, [
          key,
          Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
        ]);
        return rowCount === 1;
      });
    },

    list(prefix, { limit = Infinity, after = "" } = {}) {
      return run(`list ${prefix}`, async (pool) => {
        checkPrefix(prefix);
        // "~" sorts after every character of a key.
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
      const closing = opening?.then(
        (opened) => opened.close(running),
        () => undefined, // The connection never opened, and the caller was told.
      );
      await unlessSilent(closing ?? Promise.resolve());
    },
  };
}

/** "seal" in ASCII. */
const tableLock = 0x7365616c;

/** Always true; also makes the transaction wait for the disk if the database does not. */
const isDurable =
  "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) = 'on' ELSE true END";

const meanings: Readonly<Record<string, string>> = {
  "25006": "the session is read-only (a standby, or default_transaction_read_only)",
  "28000": "the server refused the user",
  "28P01": "the server refused the credentials",
  "3D000": "no such database",
  "3F000": "no such schema",
  "42501": "the user lacks permission on the table",
  "42703": "the table has unexpected columns",
  "42P01": "the table was dropped",
  "53100": "the server's disk is full",
  "53300": "the server has too many connections",
  "57P01": "the server is shutting down",
  "57P03": "the server is starting",
  NO_PASSWORD: "the server requires a password",
};

/**
 * Credentials, databases, schemas, permissions, tables, invalid values; read-only sessions; a full
 * disk.
 */
const refusals = /^(0A|22|28|3D|3F|42|54)|^(25006|53100|NO_PASSWORD)$/;

const ownErrors: readonly (readonly [RegExp, string])[] = [
  [/^Connection terminated/, "ECONNRESET"],
  [/password must be a/, "NO_PASSWORD"],
  [/does not support SSL/, noTls],
];

function translate(operation: string, error: unknown): SealdexError {
  const code = codeOf(error);
  if (code === "ERR_INVALID_URL" || code === "URIError") return malformed();
  // Of a socket, the call is connect.
  if (isError(error) && "syscall" in error && error.syscall === "open") {
    return new SealdexError(
      "invalid_request",
      `storage location postgres: expected sslrootcert, sslcert and sslkey to be files that can be read, got ${code}`,
    );
  }
  // pg's own errors have no code.
  const said = code === noCode && isError(error) ? error.message : "";
  const [, own] = ownErrors.find(([words]) => words.test(said)) ?? [];
  const cause = /timeout/i.test(said)
    ? new TimeoutError()
    : own === undefined
      ? error
      : Object.assign(new Error(), { code: own });
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

interface OpenPool {
  readonly pool: PostgresPool;
  /** Waits for these operations first. */
  readonly close: (running: Iterable<Promise<unknown>>) => Promise<void>;
}

async function createPool(connectionString: string): Promise<OpenPool> {
  const { Pool } = await loadPg();
  const pool = new Pool({
    connectionString,
    max: operationsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  });
  // The pool replaces connections that break while idle; without a listener the process would exit.
  pool.on("error", () => undefined);
  return { pool, close: (running) => end(pool, running) };
}

/**
 * Waits for running operations, which an ended pool would leave unanswered, and for the server's
 * goodbye, unless the server does not respond.
 */
function end(pool: { end(): Promise<void> }, running: Iterable<Promise<unknown>>): Promise<void> {
  return unlessSilent(Promise.allSettled(running).then(() => pool.end()));
}

async function unlessSilent(closing: Promise<void>): Promise<void> {
  try {
    await withTimeout(closeTimeoutMs, closing);
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

/** Quoted, so that upper case and keywords are taken literally. */
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

/** A Buffer's `slice` shares its memory; a store's results must not. */
function plain(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}
