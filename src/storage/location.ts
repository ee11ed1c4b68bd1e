/** From a storage location, as callers name it, to its driver: the only list of drivers. */

import { SealdexError } from "../errors.js";
import type { BlobStore } from "./blob-store.js";
import { createLocalStore } from "./local.js";
import { createMemoryStore } from "./memory.js";
import { createPostgresStore, type PostgresPool } from "./postgres.js";
import { createRedisStore } from "./redis.js";
import type { RedisClient } from "./redis-connection.js";

/** Where blobs are kept. The fields are the specification's, and `client` and `allowEviction`. docs/storage.md explains them. */
export interface StorageLocation {
  /**
   * `memory` forgets everything when the process ends; `local` is a folder of the file system; `redis`,
   * `postgres`, `s3` (or compatible) and `gcs` are services.
   */
  readonly location: "redis" | "postgres" | "memory" | "s3" | "gcs" | "local";
  /** The table that holds the blobs, or `schema.table`; made if absent. `postgres` only. Default: `sealdex`. */
  readonly tableName?: string;
  /** How to reach the server, with its credentials. `redis` and `postgres`. Never printed. */
  readonly connectionString?: string;
  /**
   * A client that the caller has already, in place of a connection string: ioredis's `Redis` or `Cluster` for
   * `redis`, pg's `Pool` for `postgres`. It stays open.
   */
  readonly client?: RedisClient | PostgresPool;
  /** Uses a server that may delete what it holds when its memory is full. `redis` only. Default: false. */
  readonly allowEviction?: boolean;
  /** `s3` and `gcs`. */
  readonly bucket?: string;
  /** `s3` and `gcs`. Never printed. */
  readonly accessKey?: string;
  /** `s3` and `gcs`. Never printed. */
  readonly secretKey?: string;
  /** `s3` and `gcs`. */
  readonly region?: string;
  /** The URL of an S3-compatible service. */
  readonly endpoint?: string;
  /**
   * `local`, required: the folder, made if absent; relative to the working directory. `redis`: what all keys
   * begin with; default `sealdex`.
   */
  readonly path?: string;
}

const methods = ["read", "create", "list", "delete"] as const satisfies readonly (keyof BlobStore)[];

/** Whether a caller gave a store of its own, which is then the caller's to close, and not a location. */
export function isBlobStore(location: unknown): location is BlobStore {
  if (typeof location !== "object" || location === null) return false;
  const candidate = location as Partial<Record<keyof BlobStore, unknown>>;
  return methods.every((method) => typeof candidate[method] === "function");
}

/**
 * The store at a location; a caller's own store is returned as it is. Nothing is touched before the first
 * call of the store. Throws `invalid_request`, or `not_supported` for a location without a driver.
 */
export function openLocation(location: StorageLocation | BlobStore): BlobStore {
  if (isBlobStore(location)) return location;
  switch (location?.location) {
    case "memory":
      return createMemoryStore();
    case "local":
      return createLocalStore({ path: checkPath(location.path) });
    case "redis": {
      const { connectionString, path, allowEviction } = location;
      const client = checkClient<RedisClient>(location, "multi", "a Redis or Cluster of ioredis");
      return createRedisStore({ connectionString, client, path, allowEviction });
    }
    case "postgres": {
      const { connectionString, tableName } = location;
      const client = checkClient<PostgresPool>(location, "query", "a Pool of pg");
      return createPostgresStore({ connectionString, client, tableName });
    }
    case "s3":
    case "gcs":
      throw new SealdexError(
        "not_supported",
        `storage location ${location.location}: this version has redis, postgres, memory and local`,
      );
    default:
      // What came instead is not shown: it could be a connection string in the wrong place.
      throw new SealdexError(
        "invalid_request",
        "storage location: expected location to be one of redis, postgres, memory, s3, gcs, local, or a BlobStore",
      );
  }
}

function checkPath(path: unknown): string {
  if (typeof path === "string" && path !== "" && !path.includes("\0")) return path;
  const came = typeof path === "string" ? "an empty string or a NUL character" : typeof path;
  throw new SealdexError(
    "invalid_request",
    `storage location local: expected path to name a folder, got ${came}`,
  );
}

/** Told from others by a method, since a caller's package may be another copy than ours. */
function checkClient<T>(
  { location, client, connectionString }: StorageLocation,
  method: string,
  expected: string,
): T | undefined {
  if (client === undefined) return undefined;
  const isOne =
    typeof client === "object" && client !== null && typeof Reflect.get(client, method) === "function";
  if (isOne && connectionString === undefined) return client as T;
  const came = isOne ? "a connectionString beside it" : "something else";
  throw new SealdexError(
    "invalid_request",
    `storage location ${location}: expected client to be ${expected}, got ${came}`,
  );
}
