/** What callers store in an index and get back from it. */

import type { Image, Keep } from "./embedding/image.js";
import type { Highlight } from "./text/highlights.js";

/**
 * A vector of `dimension` numbers, 1 to 8,192, each finite as float32. Unless the metric is `cosine`, its Euclidean norm is at
 * most 1e15. What goes beyond is refused with `invalid_request`, in items and in queries.
 */
export type Vector = readonly number[] | Float32Array;

/** JSON values under string keys, as they were stored. */
export type Metadata = Readonly<Record<string, unknown>>;

/**
 * Metadata to store: an object of JSON values, of any type or interface of the caller's. What JSON would change, at any
 * depth, is `invalid_request`: dates, maps, sets and other instances of classes, NaN, bigints. Filters refuse the same.
 */
export type MetadataInput =
  | Metadata
  | (object & { readonly [Symbol.iterator]?: never; readonly [Symbol.toPrimitive]?: never });

/** What a caller stores. Only an index with an embedding model lets `vector` be left out. */
export interface Item {
  /** 1 to 512 bytes of UTF-8. */
  readonly id: string;
  readonly vector?: Vector;
  /** A text of at most 1 MiB of UTF-8, in which U+FFFD takes the place of a lone surrogate, or an image. */
  readonly contents?: string | Image;
  /**
   * What is stored as contents in place of an image: `true` the image itself, as a `data:` URL of at most 1 MiB; a text, such as
   * its caption. Default `false`: nothing. Contents that are a text are always stored.
   */
  readonly keep?: Keep;
  /** At most 64 KiB of JSON. Default `{}`. */
  readonly metadata?: MetadataInput;
  /**
   * From this moment on, a Date or milliseconds since 1970, the item is hidden from every call, by the clock of each process; the
   * next compaction of its segment removes it. Default: never.
   */
  readonly expiresAt?: Date | number | undefined;
}

export type ItemField = "vector" | "decoded" | "contents" | "metadata";
export type MatchField = "distance" | ItemField;

/** What a query by words can include. */
export type WordField = "scores" | "highlights" | MatchField;

/** The fields that `include` can name, besides `id`. */
interface Fields {
  /** Distance to the query under the index's metric, ascending. Estimated by a trained `ivf` or `ivfpq`. */
  readonly distance: number;
  /** Bit-equal to the float32 values that were stored. */
  readonly vector: Float32Array;
  /** What the index's codes say of the vector: `vector` itself if the index keeps it whole, else an approximation. */
  readonly decoded: Float32Array;
  readonly contents: string;
  /** `expiresAt` comes with them, if the item has one. */
  readonly metadata: Metadata;
}

/** What comes with metadata. */
interface Expiry {
  /** Of items that expire. */
  readonly expiresAt?: Date;
}

type ExpiryIf<F> = "metadata" extends F ? Expiry : unknown;

/** Every item has these; contents may be missing. */
type Certain = "distance" | "vector" | "decoded" | "metadata";

/** What names an item. */
interface Name {
  readonly id: string;
  /** If it is in one. */
  readonly namespace?: string;
}

/** `id` and the named fields; all fields, each perhaps missing, if the list of names is known at run time only. */
type Included<I extends readonly MatchField[], All extends MatchField> = I extends unknown
  ? number extends I["length"]
    ? Name & Expiry & Partial<Pick<Fields, All>>
    : Name &
        ExpiryIf<I[number]> &
        Pick<Fields, I[number] & Certain> &
        Partial<Pick<Fields, Exclude<I[number], Certain>>>
  : never;

/** What `get` returns: the id and the fields that `include` names. */
export type StoredItem<I extends readonly ItemField[] = readonly ItemField[]> = Included<I, ItemField>;

/** One neighbour: its id and the fields that `include` names. */
export type Match<I extends readonly MatchField[] = readonly MatchField[]> = Included<I, MatchField>;

/** What each side of a query by words and by meaning says of an item. Absent: that side did not find it. */
export interface SideScores {
  /** BM25; larger is better. */
  readonly words?: number;
  /** The distance; smaller is better. */
  readonly vectors?: number;
}

interface WordFields {
  readonly scores: SideScores;
  /** Where `contents` have what the query asks for, in UTF-16 code units; absent without contents. */
  readonly highlights: readonly Highlight[];
}

/** A match by words: `id`, `score`, and the fields that `include` names. */
export type ScoredMatch<I extends readonly WordField[] = readonly WordField[]> = Name & {
  /** Larger is better: the BM25 score, or the fused one of a query by words and by meaning. */
  readonly score: number;
} & ExpiryIf<I[number]> &
  Pick<Fields, I[number] & Exclude<Certain, "distance">> &
  Pick<WordFields, I[number] & "scores"> &
  Partial<Pick<Fields, I[number] & ("distance" | "contents")>> &
  Partial<Pick<WordFields, I[number] & "highlights">>;
