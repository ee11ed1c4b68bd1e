/** Options of listing indexes, and of listing and counting items. */

import type { Filter } from "./filter/compile.js";
import type { ItemField, MetadataInput, StoredItem } from "./items.js";

/** Options of counting items. */
export interface CountOptions extends CallOptions, NamespaceOption {
  /** Counts only items whose metadata match. */
  readonly filter?: Filter | undefined;
}

/** Options of listing indexes. */
export interface ListIndexesOptions extends CallOptions {
  /** Maximum number. Default: all. */
  readonly limit?: number | undefined;
  /** Only names after this one. Default: all. */
  readonly after?: string | undefined;
}

/** Options of listing ids. */
export interface ListIdsOptions extends CallOptions, NamespaceOption {
  /** Maximum number. Default: all. */
  readonly limit?: number;
  /** Only ids greater than this one. */
  readonly after?: string;
  /** Lists only items whose metadata match. */
  readonly filter?: Filter | undefined;
}

interface Listing<I extends readonly ItemField[]> extends NamespaceOption {
  /** Lists only items whose metadata match. */
  readonly filter?: Filter | undefined;
  /** Default: all but `decoded`, and `vector` only if the index stores vectors. */
  readonly include?: I | undefined;
  /** Only items whose ids are greater than this one. */
  readonly after?: string | undefined;
}

/** Options of listing a page of items. */
export interface ListItemsOptions<I extends readonly ItemField[] = readonly ItemField[]>
  extends Listing<I>, CallOptions {
  /**
   * Items per page, 1 to 10,000. Default 1,000. A page of large items ends earlier, after about 16
   * MiB.
   */
  readonly limit?: number;
  /** Cursor of the previous page, to continue in the same state of the index. Excludes `after`. */
  readonly cursor?: string | undefined;
  /** Orders by metadata instead of ids. Pass the same for the next page. */
  readonly orderBy?: OrderBy | undefined;
}

/**
 * Dotted paths of metadata, 1 to 8, by priority: `{ year: "desc", title: "asc" }`. Numbers come
 * before texts, texts before booleans; descending reverses this. Items without one of these values,
 * or with an array on the path, always come last. Texts compare by code points, as in filters, and
 * by their first 96 UTF-16 units. Equal values are in the order of ids.
 */
export type OrderBy = Readonly<Record<string, "asc" | "desc">>;

/** One page of the items of an index. */
export interface ItemPage<I extends readonly ItemField[] = readonly ItemField[]> {
  readonly items: StoredItem<I>[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
}

/** Options of iterating over items. */
export interface ItemsOptions<I extends readonly ItemField[] = readonly ItemField[]>
  extends Listing<I>, CallOptions {
  /** Items per page, 1 to 10,000. Default 1,000. */
  readonly pageSize?: number;
}

// Options of writes.

export interface ChangeOptions extends CallOptions, NamespaceOption {}

/** Options of an upsert. */
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

/** Numbers of the items that an upsert stored, skipped and deleted. */
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

/** Numbers of the items that an update selected and changed. */
export interface UpdateResult {
  /** Selected items. */
  readonly matched: number;
  /** Items that were changed. */
  readonly updated: number;
}

// Namespaces: parts of an index whose items can be erased permanently.

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

/** The result of erasing a namespace. */
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

/** Options of every call. */
export interface CallOptions {
  /**
   * Aborts the call, which rejects with the signal's reason. An aborted change has changed nothing;
   * a change that is already being committed continues and settles as usual.
   */
  readonly signal?: AbortSignal;
}
