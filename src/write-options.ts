/** How items are written and changed. */

import type { Filter } from "./filter.js";
import type { MetadataInput } from "./items.js";
import type { NamespaceOption } from "./namespace-options.js";
import type { CallOptions } from "./result-options.js";

/** Of changes and deletions. */
export interface ChangeOptions extends CallOptions, NamespaceOption {}

export interface UpsertOptions extends CallOptions, NamespaceOption {
  /**
   * Items of the namespace, or of none, whose metadata match and that are not among the given ones are deleted in the same commit: so all chunks of a
   * document are replaced at once, and no query sees both, or neither, of its versions. A filter that every item matches is
   * refused. Over HTTP, the items must fit into one request: 10,000 and 32 MiB of JSON.
   */
  readonly deleteFilter?: Filter | undefined;
  /**
   * A border that the items must stay within: if one does not match, or has the id of an item that does not, all are refused with
   * `forbidden`. Decided in the commit that stores them, whatever others write meanwhile. Default: none.
   */
  readonly within?: Filter | undefined;
  /**
   * Items that are stored already with equal contents, metadata and vector are neither embedded nor stored again. An item
   * without a vector counts as equal if its contents and metadata are. A trained `ivf` or `ivfpq` keeps no vectors to compare:
   * an item with a vector is always stored. Default false.
   */
  readonly skipUnchanged?: boolean;
}

export interface UpsertResult {
  /** Items that were stored. */
  readonly stored: number;
  /** Items that `skipUnchanged` left as they are. */
  readonly unchanged: number;
  /** Items that `deleteFilter` deleted. */
  readonly deleted: number;
}

/** Which items to update. A filter must not be one that everything matches: `updateAll` is. */
export type UpdateSelection =
  | { readonly ids: readonly string[]; readonly filter?: never; readonly updateAll?: never }
  | { readonly filter: Filter; readonly ids?: never; readonly updateAll?: never }
  | { readonly updateAll: true; readonly ids?: never; readonly filter?: never };

/** A change of metadata. Its fields are top-level keys; a dot in a name is a character like any other. */
export interface ItemChange {
  /** Fields to set: each replaces the field of that name as a whole, and the others stay. */
  readonly metadata?: MetadataInput | undefined;
  /** Names of fields to remove. */
  readonly unset?: readonly string[] | undefined;
  /** Whether `metadata` is all that an item has afterwards. Default false. Not together with `unset`. */
  readonly replace?: boolean;
}

export interface UpdateResult {
  /** Items that were selected. */
  readonly matched: number;
  /** Those of them that were not yet as the change makes them. */
  readonly updated: number;
}
