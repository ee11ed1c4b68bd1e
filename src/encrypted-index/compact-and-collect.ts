/** Compaction on demand: merges what there is, and deletes what is not needed any more. */

import { compactAll } from "./compact.js";
import { deleteDropped, gc } from "./gc.js";
import type { OpenIndex } from "./open-index.js";

/** Throws as `compactAll`. */
export async function compactAndCollect(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  await compactAll(index, signal);
  await gc(index, signal === undefined ? {} : { signal });
  if (index.dropped.isWithoutGrace) await deleteDropped(index, signal);
  await index.dropped.deleteDue();
}
