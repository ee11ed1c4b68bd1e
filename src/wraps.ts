/** Wraps: keys of their own for people and services that share an index. */

import type { IndexKey } from "./client-options.js";
import type { CallOptions } from "./result-options.js";

export interface WrapOptions extends CallOptions {
  /** Of the holder, for `list` and `revoke`: 1 to 128 bytes of UTF-8 without control characters. Stored sealed. */
  readonly name: string;
  /**
   * The holder's key, with which it opens the index as with any other. Each wrap has another. A key provider is for embedded indexes
   * only: `not_supported` over HTTP.
   */
  readonly key: IndexKey;
  /**
   * Readers do not have the key that signs commits, so that no one accepts what they write. Writers may change items. Only the key
   * that the index was created with may also rotate it, change wraps, renew data keys, and delete the index.
   */
  readonly access: "read-only" | "read-write";
  /** From then on the key opens nothing. Default: never. This library sees to it, not cryptography: docs/security.md. */
  readonly expiresAt?: Date | undefined;
}

export interface WrapDescription {
  /** `owner` for the key that the index was created with. */
  readonly name: string;
  readonly access: "owner" | "read-only" | "read-write";
  readonly expiresAt?: Date;
  /** The name of the key provider that keeps the key. */
  readonly provider?: string;
}

/**
 * The keys that open one index. Every method throws `forbidden` unless the index was opened with its owner's key; a service also
 * wants an API key with the scope `admin`, and sees the keys that it is sent.
 */
export interface Wraps {
  /**
   * Lets another key open the index: one small write. Throws `already_exists` if a wrap has the name or the key, `too_large` if
   * there are 256.
   */
  add(options: WrapOptions): Promise<void>;
  /** All wraps, the owner's first. */
  list(options?: CallOptions): Promise<WrapDescription[]>;
  /**
   * Ends the access of one key: two small writes, whatever the size of the index. Nothing that is written from then on can be
   * read or changed with it. What was stored before can still be read by a holder who kept the data keys and reaches
   * the storage, until `VectorIndex.reencrypt`. Throws `not_found` if there is no wrap of the name.
   */
  revoke(name: string, options?: CallOptions): Promise<void>;
}
