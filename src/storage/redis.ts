/**
 * Blobs in Redis, single or cluster.
 *
 * A key belongs to one of 64 buckets, chosen by its first two parts, so that an index lies in one bucket and
 * indexes spread over a cluster. A bucket's hash tag keeps its keys in one slot:
 *
 *     sealdex:{<bucket>}:<key>    16 characters that name the create which made it, then the blob
 *     sealdex:{<bucket>}          a sorted set of the bucket's keys, all of score 0 and so in byte order
 *
 * Blob and entry change in one transaction. The 16 characters show which create won, even if the caller's client
 * sent a create twice, and distinguish an empty blob from none.
 */

import { randomBytes } from "node:crypto";
import { SealdexError } from "../errors.js";
import type { BlobStore } from "./blob-store.js";
import { TimeoutError, unavailable, withTimeout } from "./failure.js";
import { joinBytes } from "../async/event-loop.js";
import { createSemaphore } from "../async/semaphore.js";
import { checkKey, checkPrefix } from "./key.js";
import {
  checkServers,
  connect,
  parseRedisAddress,
  type RedisClient,
  type RedisConnection,
  useClient,
} from "./redis-connection.js";

const operationsMax = 64;
const timeoutMsDefault = 30_000;
const buckets = 64;
const tokenCharacters = 16;
/** Keys per page of a list or per delete, to limit the server's work per command. */
const keysAtOnce = 5_000;

export interface RedisStoreOptions {
  /** Required without `client`. */
  readonly connectionString?: unknown;
  /** The caller's own client, which stays open. */
  readonly client?: RedisClient | undefined;
  /** Prefix of the server's keys. */
  readonly path?: unknown;
  readonly allowEviction?: boolean | undefined;
  /** Time limit of an operation. */
  readonly timeoutMs?: number;
}

/**
 * Throws `invalid_request` for an invalid connection string or path. Connects at the first call.
 */
export function createRedisStore(options: RedisStoreOptions): BlobStore {
  const { client, allowEviction = false, timeoutMs = timeoutMsDefault } = options;
  const path = checkPath(options.path ?? "sealdex");
  const address = client === undefined ? parseRedisAddress(options.connectionString) : undefined;
  const semaphore = createSemaphore(operationsMax);
  let opening: Promise<RedisConnection> | undefined;
  /** A connection on which no server has answered yet, and may never do. */
  let begun: RedisConnection | undefined;
  let isClosed = false;

  function begin(connection: RedisConnection): void {
    begun = connection;
    if (isClosed) connection.giveUp();
  }

  async function open(): Promise<RedisConnection> {
    const connection =
      address === undefined ? useClient(client as RedisClient) : await connect(address, timeoutMs, begin);
    try {
      await withTimeout(timeoutMs, checkServers(connection.client, allowEviction));
      begun = undefined;
      return connection;
    } catch (error) {
      const reason = connection.reasonFor(error);
      await connection.close();
      throw reason;
    }
  }

  /** One connection for all calls; replaced after it failed or ended. */
  async function connected(): Promise<RedisConnection> {
    const current = (opening ??= open());
    const connection = await current.catch((error: unknown) => error);
    if (isConnection(connection) && !connection.hasEnded()) return connection;
    if (opening === current) opening = undefined;
    if (isConnection(connection)) return connected();
    throw connection;
  }

  function run<T>(operation: string, work: (client: RedisClient) => Promise<T>): Promise<T> {
    return semaphore(async () => {
      const used: { connection?: RedisConnection } = {};
      const working = async () => {
        used.connection = await connected();
        return work(used.connection.client);
      };
      try {
        return await withTimeout(timeoutMs, working());
      } catch (error) {
        if (error instanceof TimeoutError) used.connection?.giveUp();
        const reason = used.connection?.reasonFor(error) ?? error;
        throw unavailable("redis", operation, reason, meanings, refusals);
      }
    });
  }

  const nameOf = (bucket: number, key: string) => `${path}:{${bucket}}:${key}`;
  const setOf = (bucket: number) => `${path}:{${bucket}}`;

  /** The first `limit` keys of a bucket, read page by page. */
  async function listBucket(from: RedisClient, bucket: number, range: LexRange): Promise<string[]> {
    const keys: string[] = [];
    for (let { min } = range; keys.length < range.limit;) {
      const count = Math.min(range.limit - keys.length, keysAtOnce);
      const page = await from.zrangebylex(setOf(bucket), min, range.max, "LIMIT", 0, count);
      for (const key of page) keys.push(key);
      if (page.length < count) break;
      min = `(${page[page.length - 1]}`;
    }
    return keys;
  }

  return {
    read(key, range) {
      return run(`read ${key}`, async (from) => {
        checkKey(key);
        const name = nameOf(bucketOf(key), key);
        const start = tokenCharacters + range.offset;
        const last = start + range.length - 1;
        if (range.offset === 0) {
          // Even an empty blob has a token.
          const value = await from.getrangeBuffer(name, 0, last);
          return value.length === 0 ? null : plain(value).subarray(tokenCharacters);
        }
        const [size, part] = await transact(from, [
          ["strlen", name],
          ["getrangeBuffer", name, start, last],
        ]);
        return size === 0 ? null : plain(part as Uint8Array);
      });
    },

    create(key, bytes) {
      return run(`create ${key}`, async (to) => {
        checkKey(key);
        const bucket = bucketOf(key);
        const name = nameOf(bucket, key);
        const token = randomBytes((tokenCharacters * 3) / 4).toString("base64url");
        const value = await joinBytes([Buffer.from(token), bytes]);
        const results = await transact(to, [
          ["set", name, Buffer.from(value.buffer), "NX"],
          ["zadd", setOf(bucket), 0, key],
          ["getrange", name, 0, tokenCharacters - 1],
        ]);
        return results[2] === token;
      });
    },

    list(prefix, { limit = Infinity, after = "" } = {}) {
      return run(`list ${prefix}`, async (from) => {
        checkPrefix(prefix);
        const range: LexRange = {
          min: after >= prefix && after !== "" ? `(${after}` : `[${prefix}`,
          // "~" sorts after every character of a key.
          max: `(${prefix}~`,
          limit,
        };
        const lists = await Promise.all(bucketsOf(prefix).map((bucket) => listBucket(from, bucket, range)));
        const keys = lists.length === 1 ? lists[0] : lists.flat().sort();
        return keys.slice(0, limit);
      });
    },

    async delete(keys) {
      keys.forEach(checkKey);
      for (const { bucket, keys: together } of runsOf(keys)) {
        await run(`delete ${together[0]}`, (from) =>
          transact(from, [
            ["unlink", ...together.map((key) => nameOf(bucket, key))],
            ["zrem", setOf(bucket), ...together],
          ]),
        );
      }
    },

    async close() {
      isClosed = true;
      begun?.giveUp();
      await opening?.then(
        (connection) => connection.close(),
        () => undefined, // The connection never opened, and the caller was told.
      );
    },
  };
}

interface LexRange {
  readonly min: string;
  readonly max: string;
  readonly limit: number;
}

const meanings: Readonly<Record<string, string>> = {
  CLUSTERDOWN: "the cluster has no master for some of its slots",
  LOADING: "the server is still loading its data",
  MISCONF: "the server cannot write to its disk",
  NOAUTH: "the server requires credentials",
  NOPERM: "the user may not run a required command",
  OOM: "the server's memory is full",
  READONLY: "this is a replica; writes go to its master",
  WRONGPASS: "the server refused the credentials",
};

const refusals = /^(NOAUTH|NOPERM|OOM|WRONGPASS)$/;

function checkPath(path: unknown): string {
  // Braces would be taken for the hash tag.
  if (typeof path === "string" && /^[\w.:/-]{1,200}$/.test(path)) return path;
  throw new SealdexError(
    "invalid_request",
    "storage location redis: expected path to be 1 to 200 letters, digits and _ . : / -",
  );
}

function isConnection(value: unknown): value is RedisConnection {
  return typeof value === "object" && value !== null && "hasEnded" in value;
}

/** Results of commands that run as one. */
async function transact(client: RedisClient, commands: unknown[][]): Promise<unknown[]> {
  const results = await client.multi(commands).exec();
  if (results === null) throw new Error("a transaction was discarded");
  return results.map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}

/** The bucket of a key, or of a prefix that has as many parts: FNV-1a over the first two parts. */
function bucketOf(key: string): number {
  const [group] = /^[^/]*(\/[^/]*)?/.exec(key) as RegExpExecArray;
  let hash = 0x811c9dc5;
  for (let i = 0; i < group.length; i++) hash = Math.imul(hash ^ group.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % buckets;
}

/** Buckets that may have keys with this prefix: one if its first two parts are complete. */
function bucketsOf(prefix: string): number[] {
  if (prefix.split("/").length > 2) return [bucketOf(prefix)];
  return Array.from({ length: buckets }, (_, bucket) => bucket);
}

/** Consecutive keys of one bucket, which fit one transaction. */
function runsOf(keys: readonly string[]): { readonly bucket: number; readonly keys: string[] }[] {
  const runs: { readonly bucket: number; readonly keys: string[] }[] = [];
  for (const key of keys) {
    const bucket = bucketOf(key);
    const last = runs.at(-1);
    if (last?.bucket === bucket && last.keys.length < keysAtOnce) last.keys.push(key);
    else runs.push({ bucket, keys: [key] });
  }
  return runs;
}

/** A Buffer's `slice` shares its memory; a store's results must not. */
function plain(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}
