/** Wraps: separate keys for people and services that share an index. */

import type { IndexKey } from "./client.js";
import type { CallOptions } from "./call-options.js";

/** Options of adding a wrap. */
export interface WrapOptions extends CallOptions {
  /**
   * Name of the holder, for `list` and `revoke`: 1 to 128 bytes of UTF-8 without control
   * characters. Stored sealed.
   */
  readonly name: string;
  /**
   * The holder's key, which opens the index like any other. Each wrap needs its own. Key providers
   * are for embedded indexes only: `not_supported` over HTTP.
   */
  readonly key: IndexKey;
  /**
   * Readers lack the key that signs commits, so their writes are refused. Writers may change
   * items. Only the owner's key can rotate keys, change wraps, renew data keys, and delete the
   * index.
   */
  readonly access: "read-only" | "read-write";
  /**
   * Time from which the key opens nothing. Default: never. Enforced by this library, not by
   * cryptography: docs/security.md.
   */
  readonly expiresAt?: Date | undefined;
}

/** A key that opens an index, without the key itself. */
export interface WrapDescription {
  /** `owner` for the key that the index was created with. */
  readonly name: string;
  readonly access: "owner" | "read-only" | "read-write";
  readonly expiresAt?: Date;
  /** Name of the key provider, if there is one. */
  readonly provider?: string;
}

/**
 * The keys that open one index. Every method throws `forbidden` unless the index was opened with
 * its owner's key; a service also requires an API key with the scope `admin`, and receives the
 * keys.
 */
export interface Wraps {
  /**
   * Adds a key to the index: one small write. Throws `already_exists` if a wrap has the name or the
   * key, `too_large` beyond 256 wraps.
   */
  add(options: WrapOptions): Promise<void>;
  /** All wraps, the owner's first. */
  list(options?: CallOptions): Promise<WrapDescription[]>;
  /**
   * Revokes one key: two small writes, whatever the size of the index. The key can neither read nor
   * change anything written later. A holder who kept the data keys and can read the storage can
   * still read earlier data, until `VectorIndex.reencrypt`. Throws `not_found` if there is no such
   * wrap.
   */
  revoke(name: string, options?: CallOptions): Promise<void>;
}
