/** Namespaces: parts of an index whose items can be erased together, for good. */

import type { CallOptions } from "./result-options.js";

export interface NamespaceOption {
  /**
   * The namespace that the call is about: a tenant, a person, a document; 1 to 512 bytes of UTF-8. Nothing of another namespace is
   * read, found or changed. An item is identified by its namespace and its id, so the same id may be in two namespaces. Default:
   * what is written is in no namespace, and what is read, searched or deleted may be in any or none.
   */
  readonly namespace?: string | undefined;
}

/** What was erased, and when. */
export interface Erasure {
  readonly namespace: string;
  /** By the clock of the process that erased it. */
  readonly erasedAt: Date;
  /** Stored rows, with those of items that had been replaced or deleted. 0 if there was nothing, or not any more. */
  readonly rows: number;
  /** Of the first state of the index without them. */
  readonly version: number;
}

export interface ErasureReceipt extends Erasure {
  /** All of that, signed with the key that signs commits: see `Namespaces.readReceipt`. */
  readonly receipt: string;
}

export interface Namespaces {
  /** The names of the namespaces that have items, in the order of string comparison. */
  list(options?: CallOptions): Promise<string[]>;
  /**
   * What a receipt of `erase` says. Any key of the index will do. Throws `invalid_request` unless a writer of this index signed it, under
   * keys that are still in use.
   */
  readReceipt(receipt: string, options?: CallOptions): Promise<Erasure>;
}
