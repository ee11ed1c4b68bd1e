/** Splits calls that are too large for one request. */

import { SealdexError } from "../errors.js";

/**
 * Sends consecutive parts of the list, at most `lengthMax` long, and returns their results in
 * order. A part that the service refuses as `too_large` is halved; a part of length 1 fails with
 * that error.
 */
export async function inBatches<T, R>(
  list: readonly T[],
  lengthMax: number,
  send: (part: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0, length = lengthMax; start < list.length;) {
    const part = list.slice(start, start + length);
    try {
      for (const result of await send(part)) results.push(result);
      start += part.length;
    } catch (error) {
      if (!isTooLarge(error) || part.length === 1) throw error;
      length = Math.ceil(part.length / 2);
    }
  }
  return results;
}

export function isTooLarge(error: unknown): boolean {
  return error instanceof SealdexError && error.code === "too_large";
}
