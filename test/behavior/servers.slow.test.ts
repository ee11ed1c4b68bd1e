/** Indexes on real servers: all behaviour on each, and one location for vectors with another for configuration. */

import { execFileSync } from "node:child_process";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { describe, expect, inject, test } from "vitest";
import { type Client, createClient, generateKey, type StorageLocation } from "../../src/core.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { indexBehaviour } from "./behavior.js";

const servers = inject("servers");

let made = 0;
const unique = () => `behaviour_${process.pid}_${Date.now()}_${made++}`;

const redisLocation = (connectionString: string) =>
  ({ location: "redis", connectionString, path: unique() }) satisfies StorageLocation;

const postgresLocation = () =>
  ({
    location: "postgres",
    connectionString: servers.postgres,
    tableName: unique(),
  }) satisfies StorageLocation;

async function closed(client: Client, ...tables: readonly (string | undefined)[]): Promise<void> {
  await client.close();
  if (tables.length === 0) return;
  const pool = new Pool({ connectionString: servers.postgres });
  for (const table of tables) await pool.query(`DROP TABLE IF EXISTS "${table}"`);
  await pool.end();
}

describe("indexes on redis", { skip: servers.redis === undefined }, () => {
  indexBehaviour("on redis", async () => {
    const client = createClient({ indexLocation: redisLocation(servers.redis) });
    return { client, close: () => closed(client) };
  });
});

describe("indexes on a redis cluster", { skip: servers["redis cluster"] === undefined }, () => {
  indexBehaviour("on a redis cluster", async () => {
    const client = createClient({ indexLocation: redisLocation(servers["redis cluster"]) });
    return { client, close: () => closed(client) };
  });
});

describe("indexes on postgres", { skip: servers.postgres === undefined }, () => {
  indexBehaviour("on postgres", async () => {
    const indexLocation = postgresLocation();
    const client = createClient({ indexLocation });
    return { client, close: () => closed(client, indexLocation.tableName) };
  });
});

const isMixed = servers.redis !== undefined && servers.postgres !== undefined;

describe("an index in redis, its configuration in postgres", { skip: !isMixed }, () => {
  test("works from creation through training to deletion, and each server has its part", async () => {
    const indexLocation = redisLocation(servers.redis);
    const configLocation = postgresLocation();
    const options = { indexName: "mixed", indexKey: generateKey() };
    const client = createClient({ indexLocation, configLocation });
    const index = await client.createIndex({
      ...options,
      metric: "euclidean",
      indexConfig: { type: "ivfflat" },
    });
    const vectors = rowsOf(clustered(3_000, 24, 12, 1), 24);
    const items = vectors.map((vector, i) => ({
      id: `item ${i}`,
      vector,
      metadata: { i, even: i % 2 === 0 },
    }));
    for (let i = 0; i < items.length; i += 500) await index.upsert(items.slice(i, i + 500));
    await index.train({ nLists: 16 });
    await index.delete({ ids: ["item 7"] });
    expect(await index.count()).toBe(2_999);

    // Another process's view: a client that has seen nothing yet.
    const other = createClient({ indexLocation, configLocation });
    const seen = await other.loadIndex(options);
    for (const i of [0, 1_234, 2_999]) {
      const [nearest] = await seen.query({
        queryVector: vectors[i],
        topK: 1,
        nProbes: 16,
        include: ["metadata"],
      });
      expect(nearest).toMatchObject({ id: `item ${i}`, metadata: { i } });
    }
    const even = await seen.query({
      queryVector: vectors[1],
      topK: 20,
      greedy: true,
      filters: { even: true },
    });
    expect(even).toHaveLength(20);
    expect(await seen.get(["item 7", "item 8"])).toMatchObject([{ id: "item 8" }]);

    const redis = new Redis(servers.redis);
    const pool = new Pool({ connectionString: servers.postgres });
    const inRedis = (await redis.keys(`${indexLocation.path}:*`)).join(" ");
    const { rows } = await pool.query(`SELECT key FROM "${configLocation.tableName}" ORDER BY key`);
    const inPostgres = rows.map(({ key }) => key).join(" ");
    expect(inRedis).toMatch(/\/segment\/.*\/model\/|\/model\/.*\/segment\//);
    expect(inRedis).not.toMatch(/manifest|names/);
    expect(inPostgres).toMatch(/\/manifest\/.*names\//);
    expect(inPostgres).not.toMatch(/segment|model/);

    await client.deleteIndex(options);
    await expect(other.loadIndex(options)).rejects.toMatchObject({ code: "not_found" });
    expect(await other.listIndexes()).toEqual([]);
    // The mark of the deletion stays for a day.
    const left = (await redis.keys(`${indexLocation.path}:*`)).filter((key) => !key.endsWith("}"));
    expect(left).toEqual([expect.stringContaining("orphans/")]);
    redis.disconnect();
    await pool.end();
    await other.close();
    await closed(client, configLocation.tableName);
  });

  test("works with clients of the caller's, which stay open", async () => {
    const redis = new Redis(servers.redis);
    const pool = new Pool({ connectionString: servers.postgres });
    const tableName = unique();
    const client = createClient({
      indexLocation: { location: "redis", client: redis, path: unique() },
      configLocation: { location: "postgres", client: pool, tableName },
    });
    const options = { indexName: "mine", indexKey: generateKey() };
    const index = await client.createIndex(options);
    await index.upsert([{ id: "a", vector: [1, 2] }]);
    expect(await index.query({ queryVector: [1, 2], topK: 1, include: [] })).toEqual([{ id: "a" }]);
    await client.deleteIndex(options);
    await client.close();
    expect(await redis.ping()).toBe("PONG");
    await pool.query(`DROP TABLE "${tableName}"`);
    redis.disconnect();
    await pool.end();
  });

  test.each(["import", "require"])(
    "a program that loads the build by %s ends when its client is closed",
    (how) => {
      const tableName = unique();
      const locations = JSON.stringify({
        indexLocation: redisLocation(servers.redis),
        configLocation: { ...postgresLocation(), tableName },
      });
      const load =
        how === "import"
          ? 'await import("sealdex/core")'
          : '(await import("node:module")).createRequire(process.cwd() + "/x.js")("sealdex/core")';
      const program = `
      const { createClient, generateKey } = ${load};
      const client = createClient(JSON.parse(process.argv[1]));
      const options = { indexName: "built", indexKey: generateKey() };
      const index = await client.createIndex(options);
      await index.upsert([{ id: "a", vector: [1, 2] }]);
      const [match] = await index.query({ queryVector: [1, 2], topK: 1 });
      await client.deleteIndex(options);
      await client.close();
      const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout");
      process.stdout.write([match.id, ...timers].join());
    `;
      const command = ["--input-type=module", "-e", program, locations];
      expect(execFileSync(process.execPath, command, { encoding: "utf8", timeout: 600_000 })).toBe("a");
    },
  );
});
