/** The first of n indices, in whose order `isBeyond` turns from false to true, for which it is true; n if there is none. */
export function firstIndex(n: number, isBeyond: (i: number) => boolean): number {
  let low = 0;
  for (let end = n; low < end;) {
    const middle = (low + end) >>> 1;
    if (isBeyond(middle)) end = middle;
    else low = middle + 1;
  }
  return low;
}
