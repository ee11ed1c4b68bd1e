/**
 * Queries far from all rows, as a text in another language is: training learns from them for automatic probing. Such a query lies beyond the
 * mean of the rows, opposite to a held-out row. Its distances follow from those of the row and of the mean, so nothing is compared.
 */

/** How many times as far from the mean as the row a query is. */
const times = 10;

/** A query: its squared distances from the rows of the sample, Infinity from those that are none of its neighbors, and from the lists. */
export interface SimulatedQuery {
  readonly toRows: Float32Array;
  /** From the centroids, or from their directions. */
  readonly toLists: Float32Array;
}

/** Squared distances of the mean of the rows. */
export interface FromMean {
  readonly rows: Float32Array;
  /** From the centroids, or from their directions. */
  readonly lists: Float32Array;
  /** The square of the mean's length if rows, lists and queries have length 1; undefined: they are compared as they are. */
  readonly meanSquare: number | undefined;
}

export class FarQueries {
  readonly #fromMean: FromMean;

  constructor(fromMean: FromMean) {
    this.#fromMean = fromMean;
  }

  /** The query opposite to a row, which is none of its neighbors. */
  opposite(row: number, { toRows, toLists }: SimulatedQuery): SimulatedQuery {
    const { rows, lists, meanSquare } = this.#fromMean;
    const own = rows[row];
    const opposite = beyond(toRows, rows, own, meanSquare);
    opposite[row] = Infinity;
    return { toRows: opposite, toLists: beyond(toLists, lists, own, meanSquare) };
  }
}

/** With q = m - t (x - m), |q - y|^2 is (1 + t) |y - m|^2 - t |y - x|^2 + t (1 + t) |x - m|^2, for any y. */
function beyond(
  fromRow: Float32Array,
  fromMean: Float32Array,
  own: number,
  meanSquare: number | undefined,
): Float32Array {
  const out = new Float32Array(fromRow.length);
  const fromOwn = times * (1 + times) * own;
  for (let i = 0; i < out.length; i++) out[i] = (1 + times) * fromMean[i] - times * fromRow[i] + fromOwn;
  if (meanSquare === undefined) return out;
  // The distance from the direction of q, which follows from the product of q and y.
  const lengthSquare = (1 + times) * meanSquare - times + fromOwn;
  const length = Math.sqrt(lengthSquare);
  for (let i = 0; i < out.length; i++) out[i] = 2 - (1 + lengthSquare - out[i]) / length;
  return out;
}
