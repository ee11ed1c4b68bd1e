import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { outageConformance, storageConformance } from "../../src/storage/conformance.js";
import { openLocation, type StorageLocation } from "../../src/storage/location.js";
import { createRedisStore } from "../../src/storage/redis.js";
import { redis, type RedisServer, startRedis } from "../servers/redis.js";
import { freePorts } from "../servers/test-server.js";
import { canStart } from "../tier.js";
import { Peer, raceTwoProcesses } from "./peer.js";
import { beginning } from "../ranges.js";
import { failure } from "../outcome.js";

const { redis: shared = "" } = inject("servers");
const unlessThere = { skip: shared === "" };
const unlessInstalled = { skip: !canStart(redis) };

let made = 0;
const newPath = () => `test-${process.pid}-${Date.now()}-${made++}`;

async function emptied(store: BlobStore): Promise<void> {
  await store.delete(await store.list(""));
  await store.close();
}

describe("redis conforms", unlessThere, () => {
  storageConformance({
    test,
    factory: async () => {
      const location: StorageLocation = { location: "redis", connectionString: shared, path: newPath() };
      let peer: Peer | undefined;
      return {
        open: async () => openLocation(location),
        createElsewhere: (key, contents) => (peer ??= new Peer(location)).create(key, contents),
        async destroy() {
          await peer?.kill();
          await emptied(openLocation(location));
        },
      };
    },
  });
});

test("of 32 creates from two processes exactly one wins, for each of 30 keys", unlessThere, async () => {
  const location: StorageLocation = { location: "redis", connectionString: shared, path: newPath() };
  const store = openLocation(location);
  await raceTwoProcesses(location, store);
  await emptied(store);
});

describe("redis through an outage", unlessInstalled, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  outageConformance({
    test,
    server: () => server,
    factory: async () => {
      const path = newPath();
      return {
        open: async () => createRedisStore({ connectionString: server.address, path, timeoutMs: 4_000 }),
      };
    },
  });

  test("a store closes even if its server does not answer", async () => {
    const store = openLocation({ location: "redis", connectionString: server.address });
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
      const store = createRedisStore({ connectionString: server.address });
      const reading = failure(store.read("a", beginning));
      await store.close();
      expect(await reading).toMatchObject({ cause: { code: "ECONNRESET" } });
    } finally {
      await server.resume();
    }
  });

  test("a server without TLS is refused where TLS is expected", async () => {
    const connectionString = server.address.replace("redis:", "rediss:");
    const store = openLocation({ location: "redis", connectionString });
    expect(await failure(store.read("a", beginning))).toMatchObject({
      code: "storage_unavailable",
      message: expect.stringMatching(/NO_TLS: the server does not offer TLS/),
    });
    await store.close();
  });

  test("a database that the server does not have is refused at once, and nothing is stored in another", async () => {
    const database = (db: number) => server.address.replace(/(\/\d*)?$/, `/${db}`);
    const client = new Redis(database(99));
    const admin = new Redis(server.address);
    const before = await admin.dbsize();
    for (const location of [{ connectionString: database(99) }, { client }]) {
      const store = openLocation({ location: "redis", ...location });
      for (const call of [store.create("a", Uint8Array.of(1)), store.read("a", beginning), store.list("")]) {
        expect(await failure(call)).toMatchObject({
          code: "invalid_request",
          message: "storage location redis: the server has no database 99",
        });
      }
      await store.close();
    }
    expect(await admin.dbsize()).toBe(before);
    const last = openLocation({ location: "redis", connectionString: database(15) });
    expect(await last.create("a", Uint8Array.of(1))).toBe(true);
    expect(await admin.dbsize()).toBe(before);
    await last.close();
    client.disconnect();
    admin.disconnect();
  });

  test("a replica is refused at once", async () => {
    const replica = await startRedis(["--replicaof", "127.0.0.1", `${server.port}`]);
    const store = openLocation({ location: "redis", connectionString: replica.address });
    const { code, message } = await failure(store.read("a", beginning));
    expect(code).toBe("not_supported");
    expect(message).toContain("expected a master, got a replica");
    await store.close();
    await replica.stop();
  });

  test("a client of the caller's is used and never closed", async () => {
    const client = new Redis(server.address);
    const store = openLocation({ location: "redis", client });
    expect(await store.create("a/b/c", Uint8Array.of(1, 2))).toBe(true);
    await store.close();
    expect(await client.ping()).toBe("PONG");
    const again = openLocation({ location: "redis", client });
    expect(await again.read("a/b/c", { offset: 1, length: 5 })).toEqual(Uint8Array.of(2));
    client.disconnect();
  });

  test("a create that a client sends twice, since its connection broke, still knows that it won", async () => {
    const client = new Redis(server.address, { retryStrategy: () => 10 });
    const path = newPath();
    const store = createRedisStore({ client, path });
    await store.read("a", beginning);
    // The server carries it out; its answer is lost, and the client sends the whole transaction again.
    const { stream } = client as unknown as { stream: Socket };
    stream.pause();
    const created = store.create("a", Uint8Array.of(7));
    const other = openLocation({ location: "redis", connectionString: server.address, path });
    while ((await other.read("a", beginning)) === null) await new Promise(setImmediate);
    stream.destroy();
    expect(await created).toBe(true);
    await other.close();
    expect(await store.create("a", Uint8Array.of(7))).toBe(false);
    client.disconnect();
  });

  test("blobs and lists stay together when a set of keys is larger than a page", async () => {
    const store = openLocation({ location: "redis", connectionString: server.address, path: newPath() });
    const keys = Array.from({ length: 12_000 }, (_, i) => `big/index/k${String(i).padStart(5, "0")}`);
    await Promise.all(keys.map((key) => store.create(key, Uint8Array.of(1))));
    expect(await store.list("big/index/")).toEqual(keys);
    expect(await store.list("", { after: keys[5_999], limit: 5_500 })).toEqual(keys.slice(6_000, 11_500));
    await store.delete(keys);
    expect(await store.list("")).toEqual([]);
    await store.close();
  });
});

describe("redis over TLS", unlessInstalled, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis([], { tls: true });
  });
  afterAll(() => server.stop());

  storageConformance({
    test,
    factory: async () => {
      const client = new Redis(server.address, { tls: { ca: readFileSync(server.caFile) } });
      const path = newPath();
      let peer: Peer | undefined;
      return {
        open: async () => openLocation({ location: "redis", client, path }),
        createElsewhere(key, contents) {
          // A connection of its own, by URL, with the settings of its environment.
          const location: StorageLocation = { location: "redis", connectionString: server.address, path };
          peer ??= new Peer(location, { NODE_EXTRA_CA_CERTS: server.caFile });
          return peer.create(key, contents);
        },
        async destroy() {
          await peer?.kill();
          client.disconnect();
        },
      };
    },
  });

  test("a certificate of an untrusted authority is refused", async () => {
    const store = openLocation({ location: "redis", connectionString: server.address });
    const { code, message } = await failure(store.read("a", beginning));
    expect(code).toBe("storage_unavailable");
    expect(message).toMatch(/CERT|ISSUER|SIGNATURE/);
    await store.close();
  });
});

describe("redis that evicts", unlessInstalled, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis(["--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb"]);
  });
  afterAll(() => server.stop());

  test("is refused at the first call, with advice", async () => {
    const own = { location: "redis", connectionString: server.address } as const;
    const client = new Redis(server.address);
    for (const location of [own, { location: "redis", client } as const]) {
      const store = openLocation(location);
      for (const call of [store.read("a", beginning), store.create("a", Uint8Array.of(1)), store.list("")]) {
        const { code, message } = await failure(call);
        expect(code).toBe("not_supported");
        expect(message).toContain("allkeys-lru");
        expect(message).toContain("noeviction");
      }
      await store.close();
    }
    expect(await client.dbsize()).toBe(0);
    client.disconnect();
  });

  test("is used if the caller insists, or once it no longer evicts", async () => {
    const connectionString = server.address;
    const insisting = openLocation({ location: "redis", connectionString, allowEviction: true });
    expect(await insisting.create("a", Uint8Array.of(1))).toBe(true);
    await insisting.close();
    const store = openLocation({ location: "redis", connectionString });
    await failure(store.read("a", beginning));
    const admin = new Redis(connectionString);
    await admin.config("SET", "maxmemory-policy", "volatile-lru");
    expect(await store.read("a", beginning)).toEqual(Uint8Array.of(1));
    await store.close();
    admin.disconnect();
  });

  test("is used where a server does not say, as managed ones may not", async () => {
    const admin = new Redis(server.address);
    await admin.config("SET", "maxmemory-policy", "allkeys-lru");
    await admin.call("ACL", "SETUSER", "modest", "on", ">pw", "~*", "+@all", "-info", "-config");
    const connectionString = `redis://modest:pw@127.0.0.1:${server.port}`;
    const store = openLocation({ location: "redis", connectionString, path: newPath() });
    expect(await store.create("a", Uint8Array.of(1))).toBe(true);
    await store.close();
    admin.disconnect();
  });

  test("a full memory is an error with a reason, and leaves nothing half-done", async () => {
    const admin = new Redis(server.address);
    await admin.config("SET", "maxmemory-policy", "noeviction");
    await admin.config("SET", "maxmemory", "1");
    const store = openLocation({ location: "redis", connectionString: server.address, path: newPath() });
    const error = await failure(store.create("a/b", new Uint8Array(1000)));
    expect(error).toMatchObject({ code: "storage_unavailable", cause: { code: "OOM" } });
    expect(await store.read("a/b", beginning)).toBeNull();
    expect(await store.list("")).toEqual([]);
    await store.close();
    admin.disconnect();
  });
});

test("errors of every kind say nothing of how to get in", unlessInstalled, async () => {
  const server = await startRedis();
  const [closed] = await freePorts(1);
  const secret = "hunter2hunter2";
  const user = "alice-the-admin";
  const strings = {
    WRONGPASS: `redis://${user}:${secret}@127.0.0.1:${server.port}`,
    ECONNREFUSED: `redis://${user}:${secret}@127.0.0.1:${closed}`,
    ENOTFOUND: `redis://${user}:${secret}@no-such-host.invalid:1`,
  };
  for (const [code, connectionString] of Object.entries(strings)) {
    // A refusal is not tried again; for a host that is not there, retries would wait.
    const store =
      code === "WRONGPASS"
        ? openLocation({ location: "redis", connectionString })
        : createRedisStore({ connectionString });
    for (const call of [
      () => store.read("a", beginning),
      () => store.create("a", Uint8Array.of(1)),
      () => store.list(""),
    ]) {
      const error = await failure(call());
      expect(error).toMatchObject({
        code: "storage_unavailable",
        cause: { code: expect.stringMatching(code === "ENOTFOUND" ? /ENOTFOUND|EAI_AGAIN/ : code) },
      });
      const shown = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error) + error.stack;
      for (const part of [secret, user, "no-such-host"]) expect(shown).not.toContain(part);
    }
    expect(inspect(store, { depth: 20, showHidden: true })).not.toContain(secret);
    await store.close();
  }
  await server.stop();
});

test.each([
  "hunter2",
  "http://u:hunter2@h",
  "redis://u:hunter2@",
  "redis://u:hunter2@h:99999",
  "redis://u:hunter2@h/x",
  "redis://u:hunter2@h?family=6",
  "redis://u:hunter2%zz@h",
  undefined,
  { url: "hunter2" },
])("the connection string %s is refused without being repeated", (connectionString) => {
  const open = () => openLocation({ location: "redis", connectionString } as StorageLocation);
  expect(open).toThrow(expect.objectContaining({ code: "invalid_request" }));
  expect(open).toThrow(/expected connectionString/);
  expect(open).not.toThrow(/hunter2/);
});

test("paths that would break the hash tag and clients of another kind are refused", () => {
  for (const path of ["", "a{b}", "a b", 3]) {
    const location = { location: "redis", connectionString: "redis://h", path } as StorageLocation;
    expect(() => openLocation(location)).toThrow(/expected path/);
  }
  // Of node-redis: it has multi and info, too.
  const nodeRedis = { multi() {}, info() {}, get() {}, zRangeByLex() {}, sendCommand() {} };
  for (const client of [{}, { query() {} }, nodeRedis, null, "redis://h"]) {
    expect(() => openLocation({ location: "redis", client } as unknown as StorageLocation)).toThrow(
      /expected client to be a Redis or Cluster of ioredis/,
    );
  }
});
