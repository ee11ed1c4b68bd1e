/** What the service asks of an embedded index, beside what callers of the library may: internal. */

import type {
  GetOptions,
  ItemPage,
  ListIdsOptions,
  ListItemsOptions,
  Match,
  RankedQuery,
  SingleQuery,
  BatchQuery,
  StoredItem,
  TextQuery,
  VectorIndex,
  WordQuery,
} from "./vector-index.js";

/** What the results of a call may take, and their form. */
export interface ResultSettings {
  /**
   * Called before some of the results are made, with the bytes that these take in memory. The call waits for what it
   * returns, and rejects with what it throws.
   */
  readonly reserveBytes?: ((bytes: number) => Promise<void> | void) | undefined;
  /** Metadata as the JSON text that is stored, to be passed on: see `RawMetadata`. */
  readonly rawMetadata: boolean;
}

/** Of calls of the library. */
export const plainResults: ResultSettings = { reserveBytes: undefined, rawMetadata: false };

/** Replaces `metadata` of an item if `rawMetadata` is set. */
export interface RawMetadata {
  readonly metadataJson?: string;
}

type AnyQuery = SingleQuery | TextQuery | RankedQuery | BatchQuery | WordQuery;

export interface ServedIndex extends Omit<VectorIndex, "query" | "get" | "listIds" | "listItems"> {
  query(query: AnyQuery, results: ResultSettings): Promise<Match[] | Match[][]>;
  get(ids: readonly string[], options: GetOptions, results: ResultSettings): Promise<StoredItem[]>;
  listIds(options: ListIdsOptions, results: ResultSettings): Promise<string[]>;
  listItems(options: ListItemsOptions, results: ResultSettings): Promise<ItemPage>;
}

/** `index`: of an embedded client of this package. */
export function served(index: VectorIndex): ServedIndex {
  return index as ServedIndex;
}
