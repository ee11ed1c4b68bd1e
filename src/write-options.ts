/** Options of writes. */

import type { Filter } from "./filter.js";
import type { MetadataInput } from "./items.js";
import type { NamespaceOption } from "./namespace-options.js";
import type { CallOptions } from "./result-options.js";

export interface ChangeOptions extends CallOptions, NamespaceOption {}

export interface UpsertOptions extends CallOptions, NamespaceOption {
  /**
   * Deletes the other items of the namespace (or of none) that match, in the same commit: it
   * replaces all chunks of a document atomically. A filter that matches every item is refused. Over
   * HTTP, the items must fit one request: 10,000 items and 32 MiB of JSON.
   */
  readonly deleteFilter?: Filter | undefined;
  /**
   * Limits the items: if one does not match, or has the id of a stored item that does not, all are
   * refused with `forbidden`. Checked in the commit that stores them. Default: none.
   */
  readonly within?: Filter | undefined;
  /**
   * Skips items already stored with equal contents, metadata and vector: they are neither embedded
   * nor written. An item without a vector is equal if its contents and metadata are. A trained
   * `ivf` or `ivfpq` has no vectors to compare, so items with a vector are always stored. Default
   * false.
   */
  readonly skipUnchanged?: boolean;
}

export interface UpsertResult {
  /** Stored items. */
  readonly stored: number;
  /** Items skipped by `skipUnchanged`. */
  readonly unchanged: number;
  /** Items deleted by `deleteFilter`. */
  readonly deleted: number;
}

/** Items to update. A filter must not match everything: use `updateAll`. */
export type UpdateSelection =
  | { readonly ids: readonly string[]; readonly filter?: never; readonly updateAll?: never }
  | { readonly filter: Filter; readonly ids?: never; readonly updateAll?: never }
  | { readonly updateAll: true; readonly ids?: never; readonly filter?: never };

/** A change of metadata by top-level fields; a dot in a name has no meaning. */
export interface ItemChange {
  /** Fields to set: each is replaced as a whole, and the others stay. */
  readonly metadata?: MetadataInput | undefined;
  /** Names of fields to remove. */
  readonly unset?: readonly string[] | undefined;
  /** Whether `metadata` replaces all fields. Default false. Excludes `unset`. */
  readonly replace?: boolean;
}

export interface UpdateResult {
  /** Selected items. */
  readonly matched: number;
  /** Items that were changed. */
  readonly updated: number;
}
