import { inspect } from "node:util";
import { Pool } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { outageConformance, storageConformance } from "../../src/storage/conformance.js";
import { openLocation, type StorageLocation } from "../../src/storage/location.js";
import { createPostgresStore } from "../../src/storage/postgres.js";
import { postgres, startPostgres } from "../servers/postgres.js";
import { freePorts, type RestartableServer } from "../servers/test-server.js";
import { canStart } from "../tier.js";
import { Peer, raceTwoProcesses } from "./peer.js";
import { useFakeTime, useRealTime } from "../fake-time.js";
import { beginning } from "../ranges.js";
import { failure, refusal } from "../outcome.js";

const { postgres: connectionString = "" } = inject("servers");
const unlessThere = { skip: connectionString === "" };
const unlessInstalled = { skip: !canStart(postgres) };

afterEach(useRealTime);

let made = 0;
const newTable = () => `test_${process.pid}_${Date.now()}_${made++}`;

async function withPool<T>(address: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = new Pool({ connectionString: address });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

const drop = (tableName: string) =>
  withPool(connectionString, (pool) => pool.query(`DROP TABLE IF EXISTS "${tableName}"`));

describe("postgres conforms", unlessThere, () => {
  storageConformance({
    test,
    factory: async () => {
      const tableName = newTable();
      const location: StorageLocation = { location: "postgres", connectionString, tableName };
      let peer: Peer | undefined;
      return {
        open: async () => openLocation(location),
        createElsewhere: (key, contents) => (peer ??= new Peer(location)).create(key, contents),
        async destroy() {
          await peer?.kill();
          await drop(tableName);
        },
      };
    },
  });
});

describe("a postgres location", unlessThere, () => {
  test("lets one of 32 creates from two processes win, for each of 30 keys", async () => {
    const tableName = newTable();
    const location: StorageLocation = { location: "postgres", connectionString, tableName };
    const store = openLocation(location);
    await raceTwoProcesses(location, store);
    await store.close();
    await drop(tableName);
  });

  test("makes its table once, though many open it at the same time", async () => {
    for (let round = 0; round < 5; round++) {
      const tableName = newTable();
      const stores = Array.from({ length: 12 }, () =>
        openLocation({ location: "postgres", connectionString, tableName }),
      );
      const won = await Promise.all(stores.map((store) => store.create("a", Uint8Array.of(1))));
      expect(won.filter(Boolean)).toHaveLength(1);
      await Promise.all(stores.map((store) => store.close()));
      await drop(tableName);
    }
  });

  test("stores values out of line and as they are, so that a part is read without the rest", async () => {
    const tableName = newTable();
    const store = openLocation({ location: "postgres", connectionString, tableName });
    await store.create("a", new Uint8Array(10_000_000));
    const columns = await withPool(connectionString, (pool) =>
      pool.query(
        `SELECT attname, attstorage, collname, pg_table_size($1::regclass)::int AS size FROM pg_attribute
         LEFT JOIN pg_collation c ON c.oid = attcollation WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum`,
        [`"${tableName}"`],
      ),
    );
    expect(columns.rows).toMatchObject([
      { attname: "key", collname: "C" },
      { attname: "value", attstorage: "e" },
    ]);
    expect(columns.rows[0].size).toBeGreaterThan(10_000_000);
    // Blocks that a read touches, in pages of 8 KiB.
    const touched = async (expression: string) =>
      withPool(connectionString, async (pool) => {
        const { rows } = await pool.query(
          `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT length(${expression}) FROM "${tableName}" WHERE key = 'a'`,
        );
        const { Plan: plan } = rows[0]["QUERY PLAN"][0];
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
      });
    expect(await touched("substring(value FROM 5000000 FOR 1000)")).toBeLessThan(100);
    expect(await touched("value || ''")).toBeGreaterThan(1000);
    await store.close();
    await drop(tableName);
  });

  test("keeps a table in the schema that its name says, in the case that it says", async () => {
    const schema = newTable();
    await withPool(connectionString, (pool) => pool.query(`CREATE SCHEMA "${schema}"`));
    const store = openLocation({ location: "postgres", connectionString, tableName: `${schema}.Select` });
    expect(await store.create("a", Uint8Array.of(1))).toBe(true);
    await store.close();
    await withPool(connectionString, async (pool) => {
      expect((await pool.query(`SELECT key FROM "${schema}"."Select"`)).rows).toEqual([{ key: "a" }]);
      await pool.query(`DROP SCHEMA "${schema}" CASCADE`);
    });
    const absent = openLocation({ location: "postgres", connectionString, tableName: `${schema}.t` });
    expect(await failure(absent.read("a", beginning))).toMatchObject({ cause: { code: "3F000" } });
    await absent.close();
  });

  test("needs no right to create tables where the table is there", async () => {
    const [tableName, user] = [newTable(), newTable()];
    const store = openLocation({ location: "postgres", connectionString, tableName });
    await store.create("a", Uint8Array.of(1));
    await store.close();
    await withPool(connectionString, async (pool) => {
      await pool.query(`CREATE ROLE "${user}" LOGIN PASSWORD 'pw'`);
      await pool.query(`GRANT SELECT, INSERT, DELETE ON "${tableName}" TO "${user}"`);
    });
    const url = new URL(connectionString);
    [url.username, url.password] = [user, "pw"];
    const modest = openLocation({ location: "postgres", connectionString: url.href, tableName });
    expect(await modest.create("b", Uint8Array.of(2))).toBe(true);
    expect(await modest.list("")).toEqual(["a", "b"]);
    await modest.close();
    const other = openLocation({ location: "postgres", connectionString: url.href, tableName: newTable() });
    expect(await failure(other.read("a", beginning))).toMatchObject({
      code: "storage_unavailable",
      cause: { code: "42501" },
    });
    await other.close();
    await drop(tableName);
    await withPool(connectionString, (pool) => pool.query(`DROP ROLE "${user}"`));
  });

  test("uses a pool of the caller's and never closes it", async () => {
    const tableName = newTable();
    const client = new Pool({ connectionString, max: 2 });
    const store = openLocation({ location: "postgres", client, tableName });
    await Promise.all(Array.from({ length: 30 }, (_, i) => store.create(`k/${i}`, Uint8Array.of(i))));
    await store.close();
    expect((await client.query(`SELECT count(*)::int AS n FROM "${tableName}"`)).rows).toEqual([{ n: 30 }]);
    await client.end();
    await drop(tableName);
  });

  test("gives up calls that take too long, and continues", async () => {
    const tableName = newTable();
    const store = createPostgresStore({ connectionString, tableName });
    await store.create("a", Uint8Array.of(1));
    await withPool(connectionString, async (pool) => {
      const holder = await pool.connect();
      await holder.query("BEGIN");
      await holder.query(`LOCK TABLE "${tableName}" IN ACCESS EXCLUSIVE MODE`);
      useFakeTime(["setTimeout", "clearTimeout"]);
      const calls = Array.from({ length: 25 }, () => failure(store.read("a", beginning)));
      const blocked = "SELECT count(*)::int AS n FROM pg_locks WHERE relation = $1::regclass AND NOT granted";
      // Ten at once. The server does not notice that the clients of the earlier ones have gone.
      for (const waiting of [10, 20, 25]) {
        while ((await holder.query<{ n: number }>(blocked, [tableName])).rows[0].n < waiting);
        await vi.advanceTimersByTimeAsync(30_000);
      }
      useRealTime();
      for (const error of await Promise.all(calls)) {
        expect(error).toMatchObject({ code: "storage_unavailable", cause: { code: "ETIMEDOUT" } });
      }
      await holder.query("COMMIT");
      holder.release();
    });
    expect(await store.read("a", beginning)).toEqual(Uint8Array.of(1));
    await store.close();
    await drop(tableName);
  });

  test("a session that only reads is read from, and refused at once when it is to write", async () => {
    const tableName = newTable();
    const writable = openLocation({ location: "postgres", connectionString, tableName });
    const readOnly = new URL(connectionString);
    readOnly.searchParams.set("options", "-c default_transaction_read_only=on");
    const store = openLocation({ location: "postgres", connectionString: readOnly.href, tableName });
    const startedAt = performance.now();
    const refused = refusal("storage_unavailable", "the session is read-only");
    expect(await failure(store.create("a", Uint8Array.of(1)))).toMatchObject(refused);
    expect(await writable.create("a", Uint8Array.of(1))).toBe(true);
    expect(await store.read("a", beginning)).toEqual(Uint8Array.of(1));
    for (const call of [store.create("b", Uint8Array.of(1)), store.delete(["a"])]) {
      expect(await failure(call)).toMatchObject(refused);
    }
    // Retries would have taken a minute each.
    expect(performance.now() - startedAt).toBeLessThan(50_000);
    await Promise.all([store.close(), writable.close()]);
    await drop(tableName);
  });

  test("a table of another shape is an error that says so", async () => {
    const tableName = newTable();
    await withPool(connectionString, (pool) => pool.query(`CREATE TABLE "${tableName}" (id int)`));
    const store = openLocation({ location: "postgres", connectionString, tableName });
    expect((await failure(store.read("a", beginning))).message).toContain("unexpected columns");
    await store.close();
    await drop(tableName);
  });
});

describe("postgres through an outage", unlessInstalled, () => {
  let server: RestartableServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  outageConformance({
    test,
    server: () => server,
    factory: async () => {
      const tableName = newTable();
      return {
        open: async () =>
          createPostgresStore({ connectionString: server.address, tableName, timeoutMs: 4_000 }),
      };
    },
  });

  test("a store closes even if its server does not answer", async () => {
    const store = createPostgresStore({ connectionString: server.address, tableName: newTable() });
    await store.read("a", beginning);
    await server.pause();
    try {
      await store.close();
    } finally {
      await server.resume();
    }
  });

  test("a store closes while its server leaves the first connection unanswered", async () => {
    await server.pause();
    try {
      useFakeTime(["setTimeout", "clearTimeout"]);
      const store = createPostgresStore({ connectionString: server.address, tableName: newTable() });
      let isRead = false;
      const reading = store.read("a", beginning).finally(() => (isRead = true));
      const closing = store.close();
      await vi.advanceTimersByTimeAsync(5_000);
      await closing;
      expect(isRead).toBe(false);
      useRealTime();
      await server.resume();
      expect(await reading).toBeNull();
    } finally {
      await server.resume();
    }
  });

  test("acknowledged blobs are safe even if the database does not wait for its disk", async () => {
    await withPool(server.address, (pool) =>
      pool.query("ALTER DATABASE postgres SET synchronous_commit = off"),
    );
    for (let round = 0; round < 3; round++) {
      const store = openLocation({ location: "postgres", connectionString: server.address });
      expect(await store.create(`a/${round}`, Uint8Array.of(1))).toBe(true);
      if (round > 0) await store.delete([`a/${round - 1}`]);
      await server.kill();
      await store.close();
      await server.up();
      const reopened = openLocation({ location: "postgres", connectionString: server.address });
      expect(await reopened.list("a/")).toEqual([`a/${round}`]);
      await reopened.close();
    }
  });

  test("errors of every kind say nothing of how to get in", async () => {
    const [closed] = await freePorts(1);
    const [secret, user] = ["hunter2hunter2", "alice_the_admin"];
    const port = new URL(server.address).port;
    const strings = {
      "28P01": `postgres://${user}:${secret}@127.0.0.1:${port}/postgres`,
      NO_PASSWORD: `postgres://${user}@127.0.0.1:${port}/postgres`,
      NO_TLS: `${server.address}?sslmode=verify-full`,
      "3D000": server.address.replace(/\/postgres$/, `/${secret}`),
      ECONNREFUSED: `postgres://${user}:${secret}@127.0.0.1:${closed}/${user}`,
      "ENOTFOUND|EAI_AGAIN": `postgres://${user}:${secret}@no-such-host.invalid/${user}`,
    };
    for (const [code, wrong] of Object.entries(strings)) {
      // A refusal is not tried again; for a host that is not there, retries would wait.
      const store = /^(\d|NO_)/.test(code)
        ? openLocation({ location: "postgres", connectionString: wrong })
        : createPostgresStore({ connectionString: wrong });
      for (const call of [() => store.read("a", beginning), () => store.create("a", Uint8Array.of(1))]) {
        const error = await failure(call());
        expect(error).toMatchObject({
          code: "storage_unavailable",
          cause: { code: expect.stringMatching(code) },
        });
        const shown = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error) + error.stack;
        for (const part of [secret, user, "no-such-host"]) expect(shown).not.toContain(part);
      }
      expect(inspect(store, { depth: 20, showHidden: true })).not.toContain(secret);
      await store.close();
    }
  });
});

test("a connection that fails is reported without waiting for the operations that wait for it", async () => {
  const [closed] = await freePorts(1);
  const store = createPostgresStore({ connectionString: `postgres://u:p@127.0.0.1:${closed}/d` });
  useFakeTime(["setTimeout", "clearTimeout"]);
  const errors = await Promise.all([failure(store.read("a", beginning)), failure(store.list("a"))]);
  useRealTime();
  for (const error of errors) expect(error).toMatchObject({ cause: { code: "ECONNREFUSED" } });
  await store.close();
});

test.each(["hunter2", "mysql://u:hunter2@h", "", undefined, { url: "hunter2" }])(
  "the connection string %s is refused without being repeated",
  (text) => {
    const open = () => openLocation({ location: "postgres", connectionString: text } as StorageLocation);
    expect(open).toThrow(expect.objectContaining({ code: "invalid_request" }));
    expect(open).toThrow(/expected connectionString/);
    expect(open).not.toThrow(/hunter2/);
  },
);

test("a connection string that pg cannot read is refused at the first call, without being repeated", async () => {
  const wrong = "postgres://u:hunter2@h:port/db";
  const store = openLocation({ location: "postgres", connectionString: wrong });
  const error = await failure(store.read("a", beginning));
  expect(error.code).toBe("invalid_request");
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("hunter2");
  await store.close();
});

test("a certificate that cannot be read is refused at the first call", async () => {
  const wrong = "postgres://u:hunter2@h/db?sslmode=verify-full&sslrootcert=./none.pem";
  const store = openLocation({ location: "postgres", connectionString: wrong });
  const error = await failure(store.read("a", beginning));
  expect(error).toMatchObject({
    code: "invalid_request",
    message: expect.stringMatching(/sslrootcert.*ENOENT/),
  });
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("hunter2");
  await store.close();
});

test.each(["", "a b", 'a"; DROP TABLE x; --', "a.b.c", ".a", "a.", "1a", "x".repeat(64), 3, null])(
  "the table name %s is refused",
  (tableName) => {
    const location = { location: "postgres", connectionString: "postgres://h/d", tableName };
    expect(() => openLocation(location as StorageLocation)).toThrow(/expected tableName/);
  },
);
