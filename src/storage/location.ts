/** Storage locations, as callers name them, to drivers: the only list of drivers. */

import { SealdexError } from "../errors.js";
import type { BlobStore } from "./blob-store.js";
import { createLocalStore } from "./local.js";
import { createMemoryStore } from "./memory.js";

/** Where blobs are kept. The fields are the specification's. */
export interface StorageLocation {
  readonly location: "redis" | "postgres" | "memory" | "s3" | "gcs" | "local";
  /** Of `postgres`. */
  readonly tableName?: string;
  /** Of `redis` and `postgres`. */
  readonly connectionString?: string;
  /** Of `s3` and `gcs`. */
  readonly bucket?: string;
  readonly accessKey?: string;
  readonly secretKey?: string;
  readonly region?: string;
  /** Of S3-compatible storage. */
  readonly endpoint?: string;
  /** Of `local`: the folder, made if absent. */
  readonly path?: string;
}

/** Whether a caller gave a store of its own; such a store is the caller's to close. */
export function isBlobStore(location: unknown): location is BlobStore {
  if (typeof location !== "object" || location === null) return false;
  const methods = location as Partial<Record<keyof BlobStore, unknown>>;
  return [methods.read, methods.create, methods.list, methods.delete, methods.close].every(
    (method) => typeof method === "function",
  );
}

/** Throws `invalid_request`, or `not_supported` for locations without a driver in this version. */
export function openLocation(location: StorageLocation | BlobStore): BlobStore {
  if (isBlobStore(location)) return location;
  switch (location?.location) {
    case "memory":
      return createMemoryStore();
    case "local":
      if (typeof location.path !== "string" || location.path === "") {
        throw new SealdexError("invalid_request", "storage location local: expected a path, got none");
      }
      return createLocalStore(location.path);
    case "redis":
    case "postgres":
    case "s3":
    case "gcs":
      throw new SealdexError(
        "not_supported",
        `storage location ${location.location}: this version has memory and local`,
      );
    default:
      throw new SealdexError(
        "invalid_request",
        "storage location: expected location to be one of redis, postgres, memory, s3, gcs, local",
      );
  }
}
