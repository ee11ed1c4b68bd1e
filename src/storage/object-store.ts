/**
 * The contract of blob-store.ts over an object service, shared by the drivers for S3 and Google
 * Cloud Storage. A service only sends requests; this file decides which, and interprets their
 * results.
 *
 * Each create carries a random token that is stored with the object. If a response does not tell
 * which create won (a lost connection, a conflict, "taken" after a retry on the way), the stored
 * token decides. So a create may be sent again: it never mistakes another's object for its own.
 */

import { randomBytes } from "node:crypto";
import { joinBytes } from "../async/event-loop.js";
import { createSemaphore } from "../async/semaphore.js";
import { timers } from "../async/timers.js";
import { SealdexError } from "../errors.js";
import type { BlobStore, ByteRange } from "./blob-store.js";
import { ServiceError } from "./failure.js";
import { checkKey, checkPrefix, isKey } from "./key.js";

export type Signal = AbortSignal | undefined;

/** Requests to one object service. Names are whole object names. Every method may reject with a ServiceError. */
export interface ObjectService {
  /** Name in messages. */
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

/** Concurrent requests: the default of the services' own clients, enough to saturate a network. */
export const requestsMax = 64;
const pageMax = 1000;
const attemptsMax = 4;
const pauseMs = 50;

/** `path` is the prefix of every object's name, without a "/" at its end; may be empty. */
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

  /** Whether the stored object has the token; null if there is no object. */
  async function isOurs(
    name: string,
    token: string,
    failure: unknown,
    signal: Signal,
  ): Promise<boolean | null> {
    const found = await service.tokenOf(name, signal);
    if (found === null) return null;
    // An object without a token is not ours. If ours may have lost it, the outcome is unknown.
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
      // No object: another writer's was deleted again, or ours never arrived.
      if (ours === null) throw failure ?? new ServiceError({ reason: "a lasting conflict" });
      return ours;
    });
  }

  return {
    read(key, range, { signal } = {}) {
      return run(`read ${key}`, signal, async () => {
        checkKey(key);
        if (range.length > 0) return service.get(root + key, range, signal);
        // HTTP has no empty ranges, but the blob may not exist.
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
            // Skips foreign objects; services may send more than the limit.
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
      // One request per key, since multi-object deletes have no order. Never repeated after a lost
      // response: the second could delete a blob that another writer has created since.
      for (const key of keys) await run(`delete ${key}`, signal, () => service.remove(root + key, signal));
    },

    close: () => service.close(),
  };
}

/**
 * Repeats a create with growing pauses while the service may still fulfil it. The repetitions need
 * the same token, so the caller cannot do it.
 */
async function again<T>(signal: Signal, send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      const isFinal = !(error instanceof ServiceError) || error.isRefusal || attempt === attemptsMax;
      if (isFinal || signal?.aborted) throw error;
      const ms = (0.5 + Math.random() / 2) * pauseMs * 2 ** attempt;
      await new Promise((resolve) => timers.setTimeout(resolve, ms));
    }
  }
}

/** The cause is our own error: errors of client packages contain signed requests. */
function translate(title: string, operation: string, cause: unknown): SealdexError {
  if (cause instanceof SealdexError) return cause;
  const failure = cause instanceof ServiceError ? cause : new ServiceError({ reason: "an unexpected error" });
  const message = `${title}: ${operation} failed with ${failure.message}`;
  return new SealdexError("storage_unavailable", message, { cause: failure });
}

/** Whether an error may end without intervention. */
export function isTransientServiceError(error: unknown): boolean {
  return error instanceof SealdexError && error.cause instanceof ServiceError && !error.cause.isRefusal;
}

// Reads the requested bytes of a response's body, checked against its headers.

/** The range must have at least one byte. */
export function rangeHeader({ offset, length }: ByteRange): string {
  return `bytes=${offset}-${offset + length - 1}`;
}

/** Headers of a response. */
interface Stated {
  readonly length?: number | undefined;
  /** Content-Range. Without it, the body is the whole object, which a server may always send. */
  readonly range?: string | undefined;
}

/**
 * Reads the requested part of an object into a new array, copying as it arrives. Ignores the bytes
 * that follow. Throws a ServiceError for another part, or one that ends early.
 */
export async function readPart(
  body: AsyncIterable<Uint8Array>,
  range: ByteRange,
  stated: Stated,
): Promise<Uint8Array> {
  if (stated.range === undefined) return readBody(body, range, stated.length);
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(stated.range) ?? [];
  const end = Math.min(range.offset + range.length, Number(size));
  const isAsked = Number(first) === range.offset && Number(last) + 1 === end;
  const length = end - range.offset;
  if (isAsked && (stated.length ?? length) === length) {
    return readBody(body, { offset: 0, length }, length);
  }
  throw new ServiceError({ reason: "another part of the object" });
}

/**
 * Reads a range of the bytes of a body. `stated` is the length of the body, if known. Throws a
 * ServiceError for a body that ends early.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  { offset, length }: ByteRange,
  stated: number | undefined,
): Promise<Uint8Array> {
  const end = offset + Math.min(length, Math.max(0, (stated ?? Infinity) - offset));
  const bytes = stated === undefined ? undefined : new Uint8Array(end - offset);
  const parts: Uint8Array[] = [];
  let at = 0;
  for await (const chunk of body) {
    const part = chunk.subarray(Math.max(0, offset - at), Math.max(0, end - at));
    if (bytes === undefined) parts.push(part);
    else bytes.set(part, Math.max(0, at - offset));
    at += chunk.length;
    // Leaving a body before its end closes the connection.
    if (at > end) break;
  }
  if (stated !== undefined && at < Math.min(end, stated)) {
    throw new ServiceError({ reason: "a response that is too short" });
  }
  return bytes ?? joinBytes(parts);
}
