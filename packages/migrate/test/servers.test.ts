/** Real stores: pgvector in PGlite, LanceDB, and our own service as the published clients fill it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect as connectTo, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { connect } from "@lancedb/lancedb";
import { Field, FixedSizeList, Float16, Schema, Utf8 } from "apache-arrow";
import { Client } from "cyborgdb";
import { expect, onTestFinished, test } from "vitest";
import { vectorOf, Workspace } from "./run-command.js";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startPostgres(): Promise<{ readonly database: PGlite; readonly url: string }> {
  const database = await PGlite.create({ extensions: { vector } });
  const port = await freePort();
  const server = new PGLiteSocketServer({ db: database, port, host: "127.0.0.1" });
  await server.start();
  onTestFinished(async () => {
    await server.stop();
    await database.close();
  });
  await database.exec("CREATE EXTENSION vector");
  return { database, url: `pgvector:postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable&table=` };
}

test("pgvector: the table of LangChain's PGVectorStore", async () => {
  const { database, url } = await startPostgres();
  await database.exec(`CREATE TABLE notes (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), text text, metadata jsonb,
    embedding vector(5));
    INSERT INTO notes (text, metadata, embedding) SELECT 'text ' || n, jsonb_build_object('n', n, 'none', null,
      'deep', jsonb_build_array(1, null, jsonb_build_object('a', 'b'))), ('[' || n || ',1,2,3,0.1]')::vector
      FROM generate_series(1, 2500) n;
    INSERT INTO notes VALUES ('00000000-0000-4000-8000-000000000001', 'big', '{"big":9007199254740993}', '[1,2,3,4,5]'),
      ('00000000-0000-4000-8000-000000000002', NULL, NULL, '[0,0,0,0,1]'),
      ('00000000-0000-4000-8000-000000000003', 'no vector', '{}', NULL)`);
  const workspace = await Workspace.create();
  expect((await workspace.run(`${url}notes`)).stderr).toContain("--metric");
  const { code, stdout } = await workspace.run(`${url}notes`, ["--metric", "cosine"]);
  expect(stdout).toContain("Moved 2,502 rows");
  expect(stdout).toContain("without a vector: 1 row (00000000-0000-4000-8000-000000000003)");
  expect(stdout).toContain("metadata.big: integer beyond 2^53 (1)");
  expect(code).toBe(0);
  const { rows } = await database.query<{ id: string; n: number }>(
    "SELECT id, (metadata->>'n')::int AS n FROM notes WHERE metadata ? 'n'",
  );
  const items = await workspace.items();
  expect(Object.keys(items)).toHaveLength(2502);
  for (const { id, n } of rows) {
    expect(items[id]).toEqual({
      vector: [n, 1, 2, 3, Math.fround(0.1)],
      contents: `text ${n}`,
      metadata: { n, none: null, deep: [1, null, { a: "b" }] },
    });
  }
  expect(items["00000000-0000-4000-8000-000000000001"].metadata).toEqual({ big: "9007199254740993" });
  const empty = { vector: [0, 0, 0, 0, 1], contents: undefined, metadata: {} };
  expect(items["00000000-0000-4000-8000-000000000002"]).toEqual(empty);
});

test("pgvector: a table with columns of its own", async () => {
  const { database, url } = await startPostgres();
  await database.exec(`CREATE SCHEMA own; CREATE TABLE own."Odd ""table""" (number bigint PRIMARY KEY, "Body" text,
      v halfvec(2), made timestamptz, bytes bytea, price numeric, tags text[], info json, pages bigint, day date, local timestamp);
    INSERT INTO own."Odd ""table""" SELECT n * 4503599627370496, 'text', '[1,0.5]', '2026-01-02T03:04:05Z', '\\x0102', 1.50,
      '{a,b}', '{"x": {"y": null}}', n, '2026-01-02', '2026-01-02 03:04:05' FROM generate_series(1, 3) n`);
  const workspace = await Workspace.create();
  const names = ["--id-field", "number", "--text-field", "Body", "--vector-field", "v"];
  const from = `${url}${encodeURIComponent('own.Odd "table"')}`;
  const zone = { TZ: "Asia/Tokyo" };
  const { code, stdout } = await workspace.run(from, ["--metric", "euclidean", ...names], zone);
  expect(stdout).toContain("metadata.made: date (3)");
  expect(stdout).toContain("metadata.bytes: bytes (3)");
  expect(code).toBe(0);
  const items = await workspace.items();
  expect(Object.keys(items).sort()).toEqual(["13510798882111488", "4503599627370496", "9007199254740992"]);
  expect(items["4503599627370496"]).toEqual({
    vector: [1, 0.5],
    contents: "text",
    metadata: {
      made: "2026-01-02T03:04:05.000Z",
      bytes: "AQI=",
      price: "1.50",
      tags: ["a", "b"],
      info: { x: { y: null } },
      pages: 1,
      day: "2026-01-02",
      local: "2026-01-02 03:04:05",
    },
  });
});

test("pgvector: a column of ids with an empty one is refused, since its row would be left out", async () => {
  const { database, url } = await startPostgres();
  await database.exec(`CREATE TABLE notes (number int UNIQUE, embedding vector(1));
    INSERT INTO notes VALUES (1, '[1]'), (NULL, '[2]')`);
  const workspace = await Workspace.create();
  const options = ["--metric", "cosine", "--id-field", "number"];
  const { code, stderr } = await workspace.run(`${url}notes`, options);
  expect(stderr).toContain("error: number: expected a value in every row; choose another --id-field\n");
  expect(code).toBe(1);
});

test("pgvector: a connection that is lost ends the command with a line", async () => {
  const { database, url } = await startPostgres();
  await database.exec(`CREATE TABLE notes (id int PRIMARY KEY, embedding vector(1));
    INSERT INTO notes SELECT n, '[1]' FROM generate_series(1, 1000) n`);
  const port = Number(/:(\d+)\//.exec(url)?.[1]);
  const proxy = createServer((client) => {
    const server = connectTo(port, "127.0.0.1");
    client.pipe(server);
    let bytes = 0;
    server.on("data", (part) => {
      bytes += part.length;
      if (bytes < 10_000) client.write(part);
      else client.destroy();
    });
    client.on("close", () => server.destroy());
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void proxy.close());
  await once(proxy, "listening");
  const { port: own } = proxy.address() as { port: number };
  const workspace = await Workspace.create();
  const { code, stderr } = await workspace.run(`${url.replace(`:${port}/`, `:${own}/`)}notes`, [
    "--metric",
    "cosine",
  ]);
  expect(stderr).toMatch(/^Wrote a new key.*\nerror: pgvector: .*\n$/);
  expect(code).toBe(1);
});

test("LanceDB", async () => {
  const workspace = await Workspace.create();
  const database = await connect(workspace.path("lance"));
  const rows = Array.from({ length: 1200 }, (_, i) => ({
    vector: vectorOf(i, 8),
    text: `text ${i}`,
    page: i,
    note: i % 2 === 0 ? "even" : null,
    tags: ["a", `b${i}`],
    place: { city: "Oslo", floor: { level: i } },
    big: BigInt(i) * 2n ** 50n,
  }));
  (await database.createTable("notes", rows)).close();
  const { code, stdout, stderr } = await workspace.run("lancedb:lance/notes", ["--metric", "cosine"]);
  expect(stderr).toMatch(/^(Wrote a new key.*\n)?$/);
  expect(stdout).toContain("Check: all 1,200 ids are in the index.");
  expect(code).toBe(0);
  const items = Object.values(await workspace.items());
  const inOrder = items.toSorted(
    (a, b) => (a.metadata as { page: number }).page - (b.metadata as { page: number }).page,
  );
  expect(inOrder).toEqual(
    rows.map(({ vector: own, text, big, ...metadata }) => ({
      vector: own,
      contents: text,
      metadata: { ...metadata, big: metadata.page < 8 ? Number(big) : String(big) },
    })),
  );
});

test("LanceDB: vectors of float16", async () => {
  const workspace = await Workspace.create();
  const database = await connect(workspace.path("lance"));
  const numbers = new FixedSizeList(3, new Field("item", new Float16(), true));
  const schema = new Schema([new Field("id", new Utf8()), new Field("vector", numbers)]);
  (await database.createTable("notes", [{ id: "a", vector: [0.5, -1.25, 3] }], { schema })).close();
  expect((await workspace.run("lancedb:lance/notes", ["--metric", "cosine"])).code).toBe(0);
  expect((await workspace.items()).a.vector).toEqual([0.5, -1.25, 3]);
});

const server = fileURLToPath(new URL("../../server/dist/main.js", import.meta.url));

test("a service that the published npm client filled, moved to another service", async () => {
  const port = await freePort();
  const apiKey = "secret-secret-secret";
  const service = spawn(process.execPath, [server, "serve"], {
    env: {
      ...process.env,
      SEALDEX_PORT: String(port),
      SEALDEX_API_KEYS: apiKey,
      SEALDEX_INDEX_LOCATION: "memory:",
    },
    stdio: "ignore",
  });
  onTestFinished(() => void service.kill());
  const url = `http://127.0.0.1:${port}`;
  await expect
    .poll(async () => (await fetch(`${url}/v1/health`).catch(() => undefined))?.ok, { timeout: 300_000 })
    .toBe(true);
  const workspace = await Workspace.create();
  const client = new Client({ baseUrl: url, apiKey });
  const indexKey = client.generateKey();
  await workspace.writeJson("old.key", Buffer.from(indexKey).toString("hex"));
  const old = await client.createIndex({ indexName: "old", indexKey, metric: "cosine" });
  const rows = Array.from({ length: 1100 }, (_, i) => ({
    id: `i${i}`,
    vector: vectorOf(i, 6),
    metadata: { n: i, none: null, deep: { list: [i, [null]] } },
  }));
  await old.upsert({
    items: rows.map((row, i) =>
      // LangChain's store of that client keeps texts in the metadata.
      i % 2 === 0
        ? { ...row, contents: `text ${i}` }
        : { ...row, metadata: { ...row.metadata, _content: `text ${i}` } },
    ),
  });
  const from = ["--from-key-file", "old.key"];
  const env = { CYBORGDB_API_KEY: apiKey, SEALDEX_API_KEY: apiKey };
  const moved = await workspace.run(`cyborgdb:${url}/old`, from, env);
  expect(moved.stdout).toContain("Check: all 1,100 ids are in the index.");
  expect(moved.code).toBe(0);
  expect(await workspace.items()).toEqual(
    Object.fromEntries(
      rows.map(({ id, ...row }, i) => [
        id,
        { vector: row.vector, contents: `text ${i}`, metadata: row.metadata },
      ]),
    ),
  );
  // Of options that are given twice, the last counts.
  const served = await workspace.run(
    `cyborgdb:${url}/old`,
    [...from, "--to", url, "--index", "new", "--key-file", "new.key"],
    env,
  );
  expect(served.stderr).toContain("Wrote a new key to new.key");
  expect(served.stdout).toContain("Check: all 1,100 ids are in the index.");
  expect(served.stdout).toContain("recall@10 1.000");
  expect(served.code).toBe(0);
});
