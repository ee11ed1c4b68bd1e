/** The definition of an index: its type, metric and sizes. Names are the specification's. */

export const metrics = ["euclidean", "cosine", "squared_euclidean"] as const;
/** How the distance of two vectors is measured. */
export type Metric = (typeof metrics)[number];

export const indexTypes = ["ivfflat", "ivf", "ivfpq"] as const;
/** How an index stores vectors; docs/index-types.md compares the types. */
export type IndexType = (typeof indexTypes)[number];

/** How `ivfflat` stores a vector's components; the default is the first. */
export const precisions = ["float32", "float16", "int8"] as const;
export type Precision = (typeof precisions)[number];

/** Precisions below float32: numbers of 16 or 8 bits, times a scale per vector. */
export type ScalarPrecision = Exclude<Precision, "float32">;

/** Largest accepted dimension: a block of vectors stays within a few megabytes. */
export const dimensionMax = 8192;

/** Inverted lists at most: the number of one is a u16 where second lists are stored. */
export const nListsMax = 65_536;

/** Shards of a collection at most. */
export const shardsMax = 4096;

/** Bits of a sub-vector's code at most. */
export const pqBitsMax = 16;

/**
 * Largest Euclidean norm of a vector unless the metric is `cosine`, which compares directions alone. Up to it, every float32
 * result of the engine is finite: distances of codes, the largest of them, reach about 6,000 times its square.
 */
export const normMax = 1e15;

/** A checked configuration with every default filled in. */
export interface IndexConfig {
  readonly type: IndexType;
  readonly metric: Metric;
  /** Components of a vector, 1 to 8,192; undefined until the first vector decides it. */
  readonly dimension?: number;
  /** The number of inverted lists that training aims at; fewer if there is not enough data. */
  readonly nLists: number;
  /** Of the stored vectors (`ivfflat` only); undefined: float32. */
  readonly precision?: ScalarPrecision;
  /** Whether training may put rows in second lists, too (`ivfflat` only); undefined: it may. */
  readonly spilling?: false;
  /** Sub-vectors of a product-quantized vector (`ivfpq` only). */
  readonly pqDim?: number;
  /** Bits of each sub-vector's code, 1 to 16 (`ivfpq` only). */
  readonly pqBits?: number;
}
