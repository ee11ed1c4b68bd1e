/**
 * The common part of a query and a centroid c, which codes need not estimate if the query q and the rows x have length 1.
 *
 * A code estimates <q - c, x - c>, with an error in proportion to |q - c|. As x has length 1, 2 <c, x - c> is 1 - |c|^2 - |x - c|^2, which is known. So for
 * any share s, only <q - s c, x - c> is left to estimate:
 *
 *     |q - x|^2 = |q - c|^2 + (1 - s) (1 - |c|^2) + s |x - c|^2 - 2 <q - s c, x - c>
 *
 * The error is the smallest where q - s c is orthogonal to c. That matters for queries that are far from the centroid.
 *
 * `square` is |q - c|^2 and `length` |c|; 0: the lengths of rows are not known, and s is 1.
 */

/** s, from 0 to 1: beyond that, little is gained. */
@inline
export function centroidShare(square: f64, length: f64): f64 {
  if (length == 0) return 1;
  const own = length * length;
  return min<f64>(1, max<f64>(0, (1 + own - square) / (2 * own)));
}

/** |q - c|^2 + (1 - s) (1 - |c|^2). */
@inline
export function squareWithShare(square: f64, length: f64, share: f64): f64 {
  return square + (1 - share) * (1 - length * length);
}

/** |q - s c|^2. */
@inline
export function squareApart(square: f64, length: f64, share: f64): f64 {
  if (length == 0) return square;
  const own = length * length;
  return max<f64>(0, 1 - share * (1 + own - square) + share * share * own);
}
