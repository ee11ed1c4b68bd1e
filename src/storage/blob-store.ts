/**
 * A flat namespace of write-once blobs: everything that Sealdex requires of a storage location.
 *
 * A blob never changes once created; deleting it frees its key. This file states everything that an
 * index relies on, and `conformance.ts` checks it for every driver against a real server. A driver
 * sees names and ciphertext, never a key.
 *
 * Keys are 1 to 512 characters: parts of `a-z` and `0-9` joined by `/`, no part empty, no part
 * longer than 250, and no key is a whole-part prefix of another (`a` and `a/b` never both exist).
 *
 * Any number of calls may be in progress at once; a driver limits its own concurrency.
 */

/** `length` bytes from `offset`; integers, at least 0 and at most 1 GiB. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** Options that every operation takes. */
export interface OperationOptions {
  /**
   * Aborts when the caller no longer wants the result. A driver that can stop its work rejects then, with the signal's
   * reason or another error; one that cannot may ignore it. An aborted `create` may or may not have created the blob.
   */
  readonly signal?: AbortSignal;
}

export interface ListOptions extends OperationOptions {
  /** At most this many keys. Default: all. */
  readonly limit?: number;
  /** Only keys after this one, exclusive; it need not exist. */
  readonly after?: string;
}

/** The contract of a storage driver: blobs under names, each created once and never changed. */
export interface BlobStore {
  /**
   * Reads a range of a blob; null if there is no such blob. A range beyond the end returns the
   * bytes that exist, possibly none. A read takes memory and time for the range alone, whatever is
   * stored. The caller may keep and change the result.
   */
  read(key: string, range: ByteRange, options?: OperationOptions): Promise<Uint8Array | null>;
  /**
   * Creates a blob and returns true; if the key is taken, changes nothing and returns false. Atomic among
   * all processes: of concurrent creates exactly one wins, and a loser can read the winner's complete bytes
   * at once. Durable, as far as the location can be, when it resolves. When it rejects, the blob may or may
   * not exist: read it to find out. The bytes must not change before it settles, and may afterwards.
   */
  create(key: string, bytes: Uint8Array, options?: OperationOptions): Promise<boolean>;
  /**
   * Keys with this prefix, in byte order, including every blob created before the call. The prefix is empty
   * or the beginning of a key, not necessarily whole parts of it.
   */
  list(prefix: string, options?: ListOptions): Promise<string[]>;
  /** Deletes blobs, one after the other in the order given, as durably as `create`. Absent keys are ignored. */
  delete(keys: readonly string[], options?: OperationOptions): Promise<void>;
  /** Releases connections. No other method may be called afterwards. */
  close(): Promise<void>;
}
