/** Queries of every kind. `I` is the fields of a match, inferred from `include`. */

import type { Image } from "../embedding/image.js";
import type { RerankInput } from "../embedding/reranker.js";
import type { Fusion } from "../text/fusion.js";
import type { CallOptions, NamespaceOption } from "./call-options.js";
import type { ProbingOptions } from "./effort.js";
import type { Filter } from "./filter/compile.js";
import type { Match, MatchField, Vector, WordField } from "./items.js";

/** `I`: the fields of a match, inferred from `include`. */
export interface QueryOptions<I extends readonly MatchField[] = readonly MatchField[]>
  extends CallOptions, ProbingOptions, NamespaceOption {
  /** Matches to return; all items if there are fewer. Default 100. */
  readonly topK?: number;
  /** Searches only items whose metadata match. */
  readonly filter?: Filter | undefined;
  /** The specification's name of `filter`. Giving both is an error. */
  readonly filters?: Filter | undefined;
  /**
   * Fields of each match besides `id`. Default `["distance"]`; `[]` returns ids only. A trained
   * `ivf` or `ivfpq` stores no vectors: use `decoded`, since `vector` is `not_supported`.
   * `profile` besides returns how the query spent its time: see `ProfiledQuery`.
   */
  readonly include?: I;
  /**
   * For collections at a service with leaves: milliseconds after which a query leaves out the shards that no leaf has searched, as it does those for
   * which all leaves failed. Requires `profile` in `include`: its `shardsMissing` counts them. Default: such a query rejects.
   */
  readonly allowPartialAfterMs?: number | undefined;
}

export interface SingleQuery<
  I extends readonly MatchField[] = readonly MatchField[],
> extends QueryOptions<I> {
  readonly queryVector: Vector;
  readonly queryContents?: never;
  readonly queryVectors?: never;
  readonly queryText?: never;
}
export interface TextQuery<I extends readonly MatchField[] = readonly MatchField[]> extends QueryOptions<I> {
  /** A text, or an image if the index's embedding model embeds images. */
  readonly queryContents: string | Image;
  readonly queryVector?: never;
  readonly queryVectors?: never;
  readonly queryText?: never;
}
/** Embedded indexes only. */
export interface RankedQuery<I extends readonly MatchField[] = readonly MatchField[]> extends TextQuery<I> {
  readonly queryContents: string;
  /**
   * Scores the contents of the 4 * `topK` nearest items. Matches are ordered by score; items
   * without contents are dropped.
   */
  readonly rerank: RerankInput;
}

/**
 * A keyword search, or a hybrid one with a vector or contents. Requires an index with a
 * `textIndex`.
 */
export interface WordQuery<I extends readonly WordField[] = readonly WordField[]> extends Omit<
  QueryOptions,
  "include"
> {
  /**
   * Keywords, ranked by BM25; matches have at least one. `"a phrase"` and `+required` must be
   * present, `-excluded` must not, and `prefix*` stands for all words with this beginning. No text
   * is an error.
   */
  readonly queryText: string;
  readonly queryVector?: Vector;
  readonly queryContents?: string | Image;
  readonly queryVectors?: never;
  /** How to fuse the results of keyword and vector search. Default `{ method: "automatic" }`. */
  readonly fusion?: Fusion;
  /**
   * Fields of each match besides `id` and `score`. Default `["distance"]`, for matches of the
   * vector search.
   */
  readonly include?: I;
}

/** A match and its score, larger is better; a cross-encoder's is from 0 to 1. */
export type RankedMatch<I extends readonly MatchField[] = readonly MatchField[]> = Match<I> & {
  readonly score: number;
};

export interface BatchQuery<I extends readonly MatchField[] = readonly MatchField[]> extends QueryOptions<I> {
  /** At most 1,000 vectors. */
  readonly queryVectors: readonly Vector[];
  readonly queryVector?: never;
  readonly queryContents?: never;
  readonly queryText?: never;
}

/** The default of `include`. */
export type DefaultInclude = readonly ["distance"];
