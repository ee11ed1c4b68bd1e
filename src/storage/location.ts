/** Maps storage locations to drivers; the only list of drivers. */

import { SealdexError } from "../errors.js";
import { checkFolderPath, invalid } from "../checks/input.js";
import { takeOptions } from "../checks/option-names.js";
import type { BlobStore } from "./blob-store.js";
import { checkBucketLocation } from "./bucket-location.js";
import { isTransientServerError } from "./failure.js";
import { createGcsStore } from "./gcs.js";
import { createLocalStore } from "./local.js";
import { isTransientFileError } from "./local-files.js";
import { createMemoryStore } from "./memory.js";
import { isTransientServiceError } from "./object-store.js";
import { createPostgresStore, type PostgresPool } from "./postgres.js";
import { probedBeforeWriting } from "./probe.js";
import { createRedisStore } from "./redis.js";
import type { RedisClient } from "./redis-connection.js";
import { createS3Store, type S3ClientLike } from "./s3.js";
import {
  type GcsLocation,
  locationFields,
  type S3Location,
  type StorageLocation,
} from "./storage-location.js";
import { storageTimeoutMsDefault, withRetries } from "./retrying.js";

export type { StorageLocation };

const methods = ["read", "create", "list", "delete"] as const satisfies readonly (keyof BlobStore)[];

/** Distinguishes ioredis from other Redis clients, which lack some of these. */
const redisMethods = [
  "getrangeBuffer",
  "zrangebylex",
  "info",
  "multi",
] as const satisfies readonly (keyof RedisClient)[];

/** Whether the caller passed its own store, which the caller also closes. */
export function isBlobStore(location: unknown): location is BlobStore {
  if (typeof location !== "object" || location === null) return false;
  const candidate = location as Partial<Record<keyof BlobStore, unknown>>;
  return methods.every((method) => typeof candidate[method] === "function");
}

/** Whether no other client sees the location: each client has its own memory location. */
export function isPrivate(location: StorageLocation | BlobStore): boolean {
  return !isBlobStore(location) && location?.location === "memory";
}

/**
 * Opens the store of a location, with retries and time-outs (see retrying.ts). A caller's own store
 * is returned unchanged. Connects at the first call. Throws `invalid_request`, or `not_supported`
 * for a location without a driver.
 */
export function openLocation(
  given: StorageLocation | BlobStore,
  timeoutMs = storageTimeoutMsDefault,
): BlobStore {
  if (isBlobStore(given)) return given;
  const location = takeFields(given);
  switch (location?.location) {
    case "memory":
      return createMemoryStore();
    case "local":
      return withRetries(
        createLocalStore({ path: checkFolderPath(location.path, "storage location local: path") }),
        {
          timeoutMs,
          isTransient: isTransientFileError,
        },
      );
    case "redis": {
      const { connectionString, path, allowEviction } = location;
      const client = checkClient<RedisClient>(location, redisMethods, "a Redis or Cluster of ioredis");
      return retriedServer(createRedisStore({ connectionString, client, path, allowEviction }), timeoutMs);
    }
    case "postgres": {
      const { connectionString, tableName } = location;
      const client = checkClient<PostgresPool>(location, ["query"], "a Pool of pg");
      return retriedServer(createPostgresStore({ connectionString, client, tableName }), timeoutMs);
    }
    case "s3":
      return retriedService(openS3(location), "s3 storage", timeoutMs);
    case "gcs":
      return retriedService(openGcs(location), "gcs storage", timeoutMs);
    default:
      if (typeof location === "string") {
        throw new SealdexError(
          "invalid_request",
          'storage location: expected an object, such as { location: "local", path: "./data" }, got a string',
        );
      }
      // The value is not shown: it could be a misplaced connection string.
      throw new SealdexError(
        "invalid_request",
        "storage location: expected location to be one of redis, postgres, memory, s3, gcs, local, or a BlobStore",
      );
  }
}

/** Unknown kinds of location are refused later. */
function takeFields(location: StorageLocation): StorageLocation {
  const kind = location?.location;
  return Object.hasOwn(locationFields, kind) ? takeOptions(location, locationFields[kind]) : location;
}

function retriedServer(driver: BlobStore, timeoutMs: number): BlobStore {
  return withRetries(driver, { timeoutMs, isTransient: isTransientServerError });
}

function retriedService(driver: BlobStore, what: string, timeoutMs: number): BlobStore {
  const retries = { timeoutMs, isTransient: isTransientServiceError };
  return withRetries(probedBeforeWriting(driver, what, withRetries(driver, retries)), retries);
}

function openS3(location: S3Location): BlobStore {
  const checked = checkBucketLocation(location);
  if (location.client === undefined) return createS3Store(checked);
  const client = checkClient<S3ClientLike>(
    location,
    ["send", "destroy"],
    "an S3Client of @aws-sdk/client-s3",
  );
  if (checked.credentials ?? checked.endpoint ?? checked.region) {
    throw new SealdexError(
      "invalid_request",
      "storage location s3: expected a client, or region, endpoint and keys to make one with, not both",
    );
  }
  return createS3Store(checked, client);
}

function openGcs(location: GcsLocation): BlobStore {
  const { credentials, ...checked } = checkBucketLocation(location);
  if (credentials !== undefined) return createGcsStore({ ...checked, credentials });
  throw invalid("storage location gcs: expected accessKey and secretKey of an HMAC key");
}

interface CallersClient {
  readonly location: string;
  readonly client?: unknown;
  readonly connectionString?: unknown;
}

/** Recognizes a client by its methods: the caller's package may be another copy. */
function checkClient<T>(
  { location, client, connectionString }: CallersClient,
  methodNames: readonly string[],
  expected: string,
): T | undefined {
  if (client === undefined) return undefined;
  const isOne =
    typeof client === "object" &&
    client !== null &&
    methodNames.every((name) => typeof Reflect.get(client, name) === "function");
  if (isOne && connectionString === undefined) return client as T;
  const received = isOne ? "a connectionString as well" : "something else";
  throw new SealdexError(
    "invalid_request",
    `storage location ${location}: expected client to be ${expected}, got ${received}`,
  );
}
