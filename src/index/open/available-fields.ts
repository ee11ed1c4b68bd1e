/** Which fields of items an index keeps: no vectors once it is trained to keep codes alone. */

import { SealdexError } from "../../errors.js";
import type { Snapshot } from "../../query/snapshot/snapshot.js";
import type { ItemField, MatchField } from "../../api/vector-index.js";
import type { ResultSettings } from "../../api/served-index.js";
import type { OpenIndex } from "./open-index.js";

/** The fields of items to return, and how. */
export interface CheckedFields {
  readonly include: ReadonlySet<ItemField>;
  /** Whether the caller named the fields: then vectors must be there. */
  readonly isIncludeGiven: boolean;
  readonly results: ResultSettings;
}

/** Throws `not_supported` if `include` names vectors. */
export function checkWithoutVectors({ config }: OpenIndex, include: ReadonlySet<MatchField>): void {
  if (!include.has("vector")) return;
  throw new SealdexError(
    "not_supported",
    `include: a trained index of type ${config.type} keeps codes and no vectors`,
  );
}

/** The fields that were asked for. Vectors that are not kept are left out, or refused if the caller named them. */
export function keptFields(
  index: OpenIndex,
  snapshot: Snapshot,
  { include, isIncludeGiven }: CheckedFields,
): ReadonlySet<ItemField> {
  if (snapshot.keepsVectors) return include;
  if (isIncludeGiven) checkWithoutVectors(index, include);
  return new Set([...include].filter((field) => field !== "vector"));
}
