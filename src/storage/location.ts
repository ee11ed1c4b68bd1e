/** From a storage location, as callers name it, to its driver: the only list of drivers. */

import { SealdexError } from "../errors.js";
import type { BlobStore } from "./blob-store.js";
import { createLocalStore } from "./local.js";
import { isPassing } from "./local-files.js";
import { createMemoryStore } from "./memory.js";
import { withRetries } from "./retrying.js";

/** Where blobs are kept. The fields are the specification's; this version has drivers for `memory` and `local`. */
export interface StorageLocation {
  /**
   * `memory` forgets everything when the process ends; `local` is a folder of the file system; `redis`,
   * `postgres`, `s3` (or compatible) and `gcs` are services.
   */
  readonly location: "redis" | "postgres" | "memory" | "s3" | "gcs" | "local";
  /** The table that holds the blobs. `postgres` only. */
  readonly tableName?: string;
  /** How to reach the server, with its credentials. `redis` and `postgres`. Never printed. */
  readonly connectionString?: string;
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
  /** The folder, made if absent; relative to the working directory. Required by `local`. */
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
 * The store at a location, with retries and time-outs (see retrying.ts); a caller's own store is returned as it is.
 * Nothing is touched before the first call of the store. Throws `invalid_request`, or `not_supported` for a location
 * without a driver.
 */
export function openLocation(location: StorageLocation | BlobStore, timeoutMs: number): BlobStore {
  if (isBlobStore(location)) return location;
  switch (location?.location) {
    case "memory":
      return createMemoryStore();
    case "local":
      return withRetries(createLocalStore({ path: checkPath(location.path) }), {
        timeoutMs,
        isTransient: isPassing,
      });
    case "redis":
    case "postgres":
    case "s3":
    case "gcs":
      throw new SealdexError(
        "not_supported",
        `storage location ${location.location}: this version has memory and local`,
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
