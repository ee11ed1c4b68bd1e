/** Reads items by their ids. */

import { readItems, reservedAfter } from "../search/read-items.js";
import type { FoundId } from "../search/snapshot.js";
import { run, waitFor } from "../threads/run.js";
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
  const distinct = [...new Set(ids)];
  const fingerprints = await fingerprintsOf(index, distinct);
  const read = index.snapshots.readAhead(function* (snapshot, confirm) {
    const include = keptFields(index, snapshot, fields);
    const refsOf = new Map<string, FoundId[]>();
    for (const found of yield* waitFor(snapshot.findIds(fingerprints))) {
      const id = distinct[found.position];
      refsOf.set(id, [...(refsOf.get(id) ?? []), found]);
    }
    const refs = ids.flatMap((id) => refsOf.get(id) ?? []);
    return yield* readItems(refs, include, reservedAfter(confirm, fields.results));
  });
  return run(read);
}
