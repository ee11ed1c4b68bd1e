/**
 * The contract of blob-store.ts over an object service: what the drivers for S3 and for Google Cloud Storage have in
 * common. A service only sends requests; which requests, and what their answers mean, is decided here.
 *
 * Each create carries a random token that is stored with the object. An answer that leaves open which create won (a lost
 * connection, a conflict, "taken" after a retry somewhere on the way) is settled by reading which token is there. That is
 * why a create may be sent again: it can never mistake its own object for another's.
 */

import { randomBytes } from "node:crypto";
import { SealdexError } from "../errors.js";
import type { BlobStore, ByteRange } from "./blob-store.js";
import { createSemaphore } from "./semaphore.js";
import { checkKey, checkPrefix, isKey } from "./key.js";
import { ServiceError } from "./service-error.js";
import { timers } from "../real-timers.js";

/** Ends a request when it aborts. */
export type Signal = AbortSignal | undefined;

/** Requests to one object service. Names are whole object names. Every method may reject with a ServiceError. */
export interface ObjectService {
  /** What messages call it. */
  readonly title: string;
  /** The part of an object in a range of at least one byte; empty if the range lies past the end. */
  get(name: string, range: ByteRange, signal: Signal): Promise<Uint8Array | null>;
  /** The token that the object was created with, undefined if it has none; null if there is no object. */
  tokenOf(name: string, signal: Signal): Promise<string | undefined | null>;
  /** Creates an object unless there is one. "conflict": refused because another request was in progress. */
  put(
    name: string,
    bytes: Uint8Array,
    token: string,
    signal: Signal,
  ): Promise<"created" | "taken" | "conflict">;
  /** At most `limit` names with a prefix after another name, in byte order. */
  list(
    prefix: string,
    after: string,
    limit: number,
    signal: Signal,
  ): Promise<{ names: string[]; isTruncated: boolean }>;
  /** Deletes an object, or nothing. */
  remove(name: string, signal: Signal): Promise<void>;
  close(): Promise<void>;
}

/** Requests in progress at once: the default of a service's own client, and enough to saturate a network. */
export const requestsMax = 64;
const pageMax = 1000;
const attemptsMax = 4;
const pauseMs = 50;

/** `path`: what every object's name begins with, without a "/" at its end; may be empty. */
export function createObjectStore(service: ObjectService, path: string): BlobStore {
  const semaphore = createSemaphore(requestsMax);
  const root = path === "" ? "" : `${path}/`;

  function run<T>(operation: string, signal: Signal, work: () => Promise<T>): Promise<T> {
    return semaphore(async () => {
      try {
        signal?.throwIfAborted();
        return await work();
      } catch (cause) {
        throw signal?.aborted ? signal.reason : translate(service.title, operation, cause);
      }
    });
  }

  /** Whether the object there is the one that carries the token; null if there is none. */
  async function isOurs(
    name: string,
    token: string,
    failure: unknown,
    signal: Signal,
  ): Promise<boolean | null> {
    const found = await service.tokenOf(name, signal);
    if (found === null) return null;
    // Without a token, an object is not ours. If ours may have lost its token, the outcome stays open.
    if (found === undefined && failure !== undefined) throw failure;
    return found === token;
  }

  async function create(name: string, bytes: Uint8Array, signal: Signal): Promise<boolean> {
    const token = randomBytes(16).toString("hex");
    return again(signal, async () => {
      const answer = await service.put(name, bytes, token, signal).catch((error: unknown) => {
        if (error instanceof ServiceError && !error.isRefusal) return error;
        throw error;
      });
      if (answer === "created") return true;
      const failure = answer instanceof ServiceError ? answer : undefined;
      const ours = await isOurs(name, token, failure, signal).catch((error: unknown) => {
        throw failure ?? error;
      });
      // If there is no object, another writer's was deleted again, or ours never arrived.
      if (ours === null) throw failure ?? new ServiceError({ reason: "a conflict that stays" });
      return ours;
    });
  }

  return {
    read(key, range, { signal } = {}) {
      return run(`read ${key}`, signal, async () => {
        checkKey(key);
        if (range.length > 0) return service.get(root + key, range, signal);
        // No range of HTTP has no bytes; whether there is a blob at all is still to be found out.
        const first = await service.get(root + key, { offset: 0, length: 1 }, signal);
        return first && new Uint8Array(0);
      });
    },

    create(key, bytes, { signal } = {}) {
      return run(`create ${key}`, signal, () => {
        checkKey(key);
        return create(root + key, bytes, signal);
      });
    },

    list(prefix, { limit = Infinity, after = "", signal } = {}) {
      return run(`list ${prefix}`, signal, async () => {
        checkPrefix(prefix);
        const keys: string[] = [];
        let last = after === "" ? "" : root + after;
        while (keys.length < limit) {
          const count = Math.min(pageMax, limit - keys.length);
          const { names, isTruncated } = await service.list(root + prefix, last, count, signal);
          for (const name of names) {
            if (!name.startsWith(root + prefix) || name <= last) {
              throw new ServiceError({ reason: "a list out of order", isRefusal: true });
            }
            last = name;
            const key = name.slice(root.length);
            // Whatever else lies here is not ours, and a service may send more than was asked for.
            if (isKey(key) && keys.length < limit) keys.push(key);
          }
          if (!isTruncated) break;
          if (names.length === 0) {
            throw new ServiceError({ reason: "a list without an end", isRefusal: true });
          }
        }
        return keys;
      });
    },

    async delete(keys, { signal } = {}) {
      keys.forEach(checkKey);
      // One request a key: what a request for many deletes, it deletes in no particular order. And never a second one
      // if the answer to the first was lost: it could delete what another writer has created since.
      for (const key of keys) await run(`delete ${key}`, signal, () => service.remove(root + key, signal));
    },

    close: () => service.close(),
  };
}

/** Sends a create again, a few times and ever later, while the service may yet fulfil it: under one token, so not above here. */
async function again<T>(signal: Signal, send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      const isFinal = !(error instanceof ServiceError) || error.isRefusal || attempt === attemptsMax;
      if (isFinal || signal?.aborted) throw error;
      await pause((0.5 + Math.random() / 2) * pauseMs * 2 ** attempt);
    }
  }
}

/** The only cause is ours: what clients of services throw holds signed requests. */
function translate(title: string, operation: string, cause: unknown): SealdexError {
  if (cause instanceof SealdexError) return cause;
  const failure = cause instanceof ServiceError ? cause : new ServiceError({ reason: "an unexpected error" });
  const message = `${title}: ${operation} failed with ${failure.message}`;
  return new SealdexError("storage_unavailable", message, { cause: failure });
}

/** Whether an error of an object store may be over soon, without anybody's intervention. */
export function isTransient(error: unknown): boolean {
  return error instanceof SealdexError && error.cause instanceof ServiceError && !error.cause.isRefusal;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    timers.setTimeout(resolve, ms);
  });
}
