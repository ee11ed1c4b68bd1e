/** The internal interface of embedded indexes for the service. */

import type {
  GetOptions,
  ItemPage,
  ListIdsOptions,
  ListItemsOptions,
  Match,
  MeasuredRecall,
  ProfiledMatches,
  ProfiledQuery,
  RankedQuery,
  SingleQuery,
  BatchQuery,
  StoredItem,
  TextQuery,
  VectorIndex,
  WordQuery,
} from "./vector-index.js";

/** Limits and form of a call's results. */
export interface ResultSettings {
  /**
   * Called with the bytes of results before they are created. The call awaits the returned promise,
   * and rejects if it rejects.
   */
  readonly reserveBytes?: ((bytes: number) => Promise<void> | void) | undefined;
  /** Returns metadata as stored JSON text: see `RawMetadata`. */
  readonly rawMetadata: boolean;
}

/** For calls of the library. */
export const plainResults: ResultSettings = { reserveBytes: undefined, rawMetadata: false };

/** Replaces `metadata` if `rawMetadata` is set. */
export interface RawMetadata {
  readonly metadataJson?: string;
}

type AnyQuery = SingleQuery | TextQuery | RankedQuery | BatchQuery | WordQuery | ProfiledQuery;

export interface ServedIndex extends Omit<VectorIndex, "query" | "get" | "listIds" | "listItems"> {
  query(query: AnyQuery, results: ResultSettings): Promise<Match[] | Match[][] | ProfiledMatches>;
  get(ids: readonly string[], options: GetOptions, results: ResultSettings): Promise<StoredItem[]>;
  listIds(options: ListIdsOptions, results: ResultSettings): Promise<string[]>;
  listItems(options: ListItemsOptions, results: ResultSettings): Promise<ItemPage>;
  /** As `describe` has it, without asking storage. */
  measuredRecall(): readonly MeasuredRecall[];
}

/** `index` must belong to an embedded client of this package. */
export function served(index: VectorIndex): ServedIndex {
  return index as VectorIndex & ServedIndex;
}
