/** Items, as stored and as returned. */

import type { Image, Keep } from "../embedding/image.js";
import type { Highlight } from "../text/highlights.js";

/**
 * A vector of `dimension` numbers, 1 to 8,192, each finite as float32. Unless the metric is
 * `cosine`, its Euclidean norm is at most 1e15. Other vectors are refused with `invalid_request`,
 * in items and queries.
 */
export type Vector = readonly number[] | Float32Array;

/** JSON values under string keys, as they were stored. */
export type Metadata = Readonly<Record<string, unknown>>;

/**
 * Metadata to store: an object of JSON values, of any type or interface. Values that JSON would
 * change, at any depth, are `invalid_request`: dates, maps, sets and other class instances, NaN,
 * bigints. Filters refuse the same.
 */
export type MetadataInput =
  | Metadata
  | (object & { readonly [Symbol.iterator]?: never; readonly [Symbol.toPrimitive]?: never });

/** An item to store. `vector` is optional in indexes with an embedding model. */
export interface Item {
  /** 1 to 512 bytes of UTF-8. */
  readonly id: string;
  readonly vector?: Vector;
  /** A text of at most 1 MiB of UTF-8 (lone surrogates become U+FFFD), or an image. */
  readonly contents?: string | Image;
  /**
   * Contents to store for an image: `true` the image itself, as a `data:` URL of at most 1 MiB; or
   * a text, for example its caption. Default `false`: none. Text contents are always stored.
   */
  readonly keep?: Keep;
  /** At most 64 KiB of JSON. Default `{}`. */
  readonly metadata?: MetadataInput;
  /**
   * Hides the item from every call from this time on, a Date or milliseconds since 1970, by the
   * clock of each process; the next compaction of its segment removes it. Default: never.
   */
  readonly expiresAt?: Date | number | undefined;
}

/** Fields of a stored item that `include` can name. */
export type ItemField = "vector" | "decoded" | "contents" | "metadata";
/** Fields of a match that `include` can name. */
export type MatchField = "distance" | ItemField;

/** Fields that keyword queries can include. */
export type WordField = "scores" | "highlights" | MatchField;

// Aliases, since declarations of users' programs cannot name an interface that is not exported.

/** Fields that `include` can name, besides `id`. */
type Fields = {
  /** Distance to the query under the index's metric, ascending. Estimated by a trained `ivf` or `ivfpq`. */
  readonly distance: number;
  /** Bit-equal to the float32 values that were stored. */
  readonly vector: Float32Array;
  /**
   * The vector decoded from the index's codes: exact if the index stores vectors, otherwise an
   * approximation.
   */
  readonly decoded: Float32Array;
  readonly contents: string;
  /** Includes `expiresAt`, if the item has one. */
  readonly metadata: Metadata;
};

/** Returned with metadata. */
type Expiry = {
  /** For items that expire. */
  readonly expiresAt?: Date;
};

type ExpiryIf<F> = "metadata" extends F ? Expiry : unknown;

/** Fields of every item; contents may be missing. */
type Certain = "distance" | "vector" | "decoded" | "metadata";

/** Identity of an item. */
type Name = {
  readonly id: string;
  /** Absent outside namespaces. */
  readonly namespace?: string;
};

/**
 * `id` and the named fields; if the list of names is known only at run time, all fields, each
 * optional.
 */
type Included<I extends readonly MatchField[], All extends MatchField> = I extends unknown
  ? number extends I["length"]
    ? Name & Expiry & Partial<Pick<Fields, All>>
    : Name &
        ExpiryIf<I[number]> &
        Pick<Fields, I[number] & Certain> &
        Partial<Pick<Fields, Exclude<I[number], Certain>>>
  : never;

/** A result of `get`: the id and the fields that `include` names. */
export type StoredItem<I extends readonly ItemField[] = readonly ItemField[]> = Included<I, ItemField>;

/** A match: its id and the fields that `include` names. */
export type Match<I extends readonly MatchField[] = readonly MatchField[]> = Included<I, MatchField>;

/** The score of each side of a hybrid query. Absent: that side did not find the item. */
export interface SideScores {
  /** BM25; larger is better. */
  readonly words?: number;
  /** The distance; smaller is better. */
  readonly vectors?: number;
}

type WordFields = {
  readonly scores: SideScores;
  /** Ranges of `contents` that match the query, in UTF-16 code units; absent without contents. */
  readonly highlights: readonly Highlight[];
};

/** A match of a keyword or hybrid query: `id`, `score`, and the fields that `include` names. */
export type ScoredMatch<I extends readonly WordField[] = readonly WordField[]> = Name & {
  /** Larger is better: the BM25 score, or the fused one of a hybrid query. */
  readonly score: number;
} & ExpiryIf<I[number]> &
  Pick<Fields, I[number] & Exclude<Certain, "distance">> &
  Pick<WordFields, I[number] & "scores"> &
  Partial<Pick<Fields, I[number] & ("distance" | "contents")>> &
  Partial<Pick<WordFields, I[number] & "highlights">>;
