/** The dimension of an index: fixed by its definition, or by its first vector. */

import { SealdexError } from "../../errors.js";
import type { Snapshot } from "../../query/snapshot/snapshot.js";
import type { Manifest } from "../../state/commit/manifest.js";
import type { OpenIndex } from "./open-index.js";

/** The dimension, by definition or by the first vector. */
export function dimensionOf({ config }: OpenIndex, manifest: Manifest | undefined): number | undefined {
  return config.dimension ?? manifest?.dimension;
}

/** Whether any vector is stored, of the dimension of this one: if there is none, any dimension may ask, and nothing is near. */
export function hasDimension(
  index: OpenIndex,
  { manifest }: Snapshot,
  { length }: Float32Array,
  where: string,
): boolean {
  const dimension = dimensionOf(index, manifest);
  if (dimension !== undefined && length !== dimension) throw dimensionMismatch(where, dimension, length);
  return dimension !== undefined;
}

export function dimensionMismatch(where: string, expected: number, received: number): SealdexError {
  return new SealdexError("dimension_mismatch", `${where}: expected ${expected} numbers, got ${received}`);
}
