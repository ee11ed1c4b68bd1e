/** Namespaces: parts of an index whose items can be erased permanently. */

import type { CallOptions } from "./result-options.js";

export interface NamespaceOption {
  /**
   * The namespace of the call, for example a tenant or a person; 1 to 512 bytes of UTF-8. The call
   * neither reads, finds nor changes anything in other namespaces. A namespace and an id identify
   * an item, so two namespaces may have the same id. Default: writes go to no namespace; reads,
   * searches and deletes cover all items, in namespaces or not.
   */
  readonly namespace?: string | undefined;
}

/** A completed erasure. */
export interface Erasure {
  readonly namespace: string;
  /** By the clock of the erasing process. */
  readonly erasedAt: Date;
  /** Stored rows, including replaced and deleted items. 0 if there were none. */
  readonly rows: number;
  /** Version of the first state of the index without them. */
  readonly version: number;
}

export interface ErasureReceipt extends Erasure {
  /** The same, signed by the key that signs commits: see `Namespaces.readReceipt`. */
  readonly receipt: string;
}

export interface Namespaces {
  /** Names of the namespaces that have items, in string order. */
  list(options?: CallOptions): Promise<string[]>;
  /**
   * Reads a receipt of `erase`, with any key of the index. Throws `invalid_request` unless a writer
   * of this index signed it, under keys in use.
   */
  readReceipt(receipt: string, options?: CallOptions): Promise<Erasure>;
}
