import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { outageConformance, storageConformance } from "../../src/storage/conformance.js";
import { openLocation, type StorageLocation } from "../../src/storage/location.js";
import { createRedisStore } from "../../src/storage/redis.js";
import { redisCluster, startRedisCluster } from "../servers/redis-cluster.js";
import type { RestartableServer } from "../servers/test-server.js";
import { canStart } from "../tier.js";
import { Peer, raceTwoProcesses } from "./peer.js";
import { beginning } from "../ranges.js";
import { refusal } from "../outcome.js";

const { "redis cluster": connectionString = "" } = inject("servers");
const unlessThere = { skip: connectionString === "" };
const unlessInstalled = { skip: !canStart(redisCluster) };

let made = 0;
const newLocation = () =>
  ({
    location: "redis",
    connectionString,
    path: `test-${process.pid}-${Date.now()}-${made++}`,
  }) satisfies StorageLocation;

async function emptied(location: StorageLocation): Promise<void> {
  const store = openLocation(location);
  await store.delete(await store.list(""));
  await store.close();
}

describe("a redis cluster conforms", unlessThere, () => {
  storageConformance({
    test,
    factory: async () => {
      const location = newLocation();
      let peer: Peer | undefined;
      return {
        open: async () => openLocation(location),
        createElsewhere: (key, contents) => (peer ??= new Peer(location)).create(key, contents),
        async destroy() {
          await peer?.kill();
          await emptied(location);
        },
      };
    },
  });
});

test(
  "of 32 creates from two processes exactly one wins on a cluster, for each of 30 keys",
  unlessThere,
  async () => {
    const location = newLocation();
    const store = openLocation(location);
    await raceTwoProcesses(location, store);
    await store.close();
    await emptied(location);
  },
);

test("that a single address belongs to a cluster is found out", unlessThere, async () => {
  const [first] = connectionString.split(",");
  const location = { ...newLocation(), connectionString: first };
  const store = openLocation(location);
  const keys = Array.from({ length: 40 }, (_, i) => `index/${generateKey().slice(0, 32)}/segment/${i}`);
  for (const key of keys) expect(await store.create(key, Buffer.from(key))).toBe(true);
  for (const key of keys)
    expect(Buffer.from((await store.read(key, beginning)) as Uint8Array).toString()).toBe(key);
  expect(await store.list("index/")).toEqual([...keys].sort());
  await store.delete(keys);
  await store.close();
});

describe("a redis cluster of this file's own", unlessInstalled, () => {
  let server: RestartableServer;
  beforeAll(async () => {
    server = await startRedisCluster();
  });
  afterAll(() => server.stop());
  const nodes = () => server.address.slice("redis://".length).split(",");
  const startNodes = () =>
    nodes().map((node) => ({ host: node.split(":")[0], port: Number(node.split(":")[1]) }));

  test("indexes spread over its nodes, and each lies on one", async () => {
    const store = createRedisStore({ connectionString: server.address });
    const indexes = Array.from({ length: 60 }, () => `index/${generateKey().slice(0, 32)}`);
    const sizes = async () => {
      const counts: number[] = [];
      for (const { host, port } of startNodes()) {
        const node = new Redis({ host, port });
        counts.push(await node.dbsize());
        node.disconnect();
      }
      return counts;
    };
    for (const index of indexes) {
      const before = await sizes();
      for (const part of ["manifest/1", "segment/a", "segment/b"]) {
        await store.create(`${index}/${part}`, Uint8Array.of(1));
      }
      const after = await sizes();
      expect(after.filter((count, node) => count !== before[node])).toHaveLength(1);
    }
    for (const count of await sizes()) expect(count).toBeGreaterThan(30);
    await store.delete(await store.list(""));
    await store.close();
  });

  test("a Cluster of the caller's is used and never closed, unless it reads from replicas", async () => {
    const client = new Cluster(startNodes());
    const store = openLocation({ location: "redis", client });
    expect(await store.create("a/b/c", Uint8Array.of(1))).toBe(true);
    await store.close();
    expect(await client.ping()).toBe("PONG");
    client.disconnect();
    const lagging = new Cluster(startNodes(), { scaleReads: "slave" });
    await expect(
      openLocation({ location: "redis", client: lagging }).read("a/b/c", beginning),
    ).rejects.toMatchObject(refusal("not_supported", "scaleReads"));
    lagging.disconnect();
  });

  test("a cluster of which one node evicts is refused", async () => {
    const { host, port } = startNodes()[1];
    const node = new Redis({ host, port });
    await node.config("SET", "maxmemory-policy", "allkeys-lfu");
    const store = openLocation({ location: "redis", connectionString: server.address });
    await expect(store.read("a", beginning)).rejects.toMatchObject(refusal("not_supported", "allkeys-lfu"));
    await store.close();
    await node.config("SET", "maxmemory-policy", "noeviction");
    node.disconnect();
  });

  outageConformance({
    test,
    server: () => server,
    factory: async () => {
      const path = `outage-${made++}`;
      return {
        open: async () => createRedisStore({ connectionString: server.address, path, timeoutMs: 4_000 }),
      };
    },
  });
});
