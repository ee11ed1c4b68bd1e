/** Reads items by their ids. */

import { readItems, reservedAfter } from "../search/read-items.js";
import type { StoredItem } from "../vector-index.js";
import type { CheckedFields } from "./check-request.js";
import { fingerprintsOf } from "./fingerprints.js";
import { keptFields } from "./kept-fields.js";
import type { OpenIndex } from "./open-index.js";

/** Those of the items that exist, in the order of the ids. */
export async function getItems(
  index: OpenIndex,
  ids: readonly string[],
  fields: CheckedFields,
): Promise<StoredItem[]> {
  const distinct = new Set(ids);
  const fingerprints = await fingerprintsOf(index, distinct);
  return index.snapshots.readAhead(async (snapshot, confirm) => {
    const include = keptFields(index, snapshot, fields);
    const refs = await snapshot.find(fingerprints);
    const refOf = new Map(Array.from(distinct, (id, i) => [id, refs[i]]));
    const found = ids.map((id) => refOf.get(id) ?? null).filter((ref) => ref !== null);
    return readItems(found, include, reservedAfter(confirm, fields.results));
  });
}
