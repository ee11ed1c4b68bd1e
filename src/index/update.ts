/** Changes the metadata of items: their rows are stored again with new records, and their vectors and texts as they are. */

import { invalid } from "../checks/input.js";
import type { CheckedChange } from "../api/check-selection.js";
import type { StoredSegment } from "../state/commit/replace-segments.js";
import type { CompiledFilter } from "../api/filter/compile.js";
import type { OpenSegment, RowRef, Snapshot } from "../query/snapshot/snapshot.js";
import { addRow, countRows, noRows } from "../state/segment/row-bits.js";
import {
  encodeRecord,
  recordExpiry,
  recordId,
  recordMetadata,
  recordMetadataJson,
} from "../state/segment/row.js";
import type { UpdateResult } from "../api/vector-index.js";
import { commitAsOf } from "./commit-changes.js";
import { mergeSmallIfDue, planFor } from "./maintenance/compact.js";
import { withEncoding } from "./open/row-encoding.js";
import { fingerprintsOf } from "./open/fingerprints.js";
import type { RowSets } from "./maintenance/live-blocks.js";
import { liveRowBatches, type RowChange } from "./maintenance/live-row-batches.js";
import { dimensionOf } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";
import { metadataBytesMax } from "./pack-items.js";
import { namespaceOf } from "./maintenance/rewrite.js";
import { forEachMatch, matchingSegments } from "./listing/rows-by-id.js";

/** Vectors and texts of a new segment, about. */
const segmentBytes = 32 * 1024 * 1024;

export type UpdatedItems =
  | { readonly ids: readonly string[]; readonly filter: undefined }
  | { readonly ids: undefined; readonly filter: CompiledFilter };

/** The changed items of one moment: items that others replace or delete meanwhile are never brought back. */
export async function update(
  index: OpenIndex,
  items: UpdatedItems,
  change: CheckedChange,
  signal: AbortSignal | undefined,
): Promise<UpdateResult> {
  await mergeSmallIfDue(index, signal);
  let matched = 0;
  let updated = 0;
  // Updates of one process would only make one another begin again.
  await index.updating(() =>
    commitAsOf(index, signal, async (snapshot) => {
      const rows = await selectRows(index, snapshot, items, signal);
      matched = 0;
      for (const bits of rows.values()) matched += countRows(bits, 0, 32 * bits.length);
      updated = 0;
      const revise = (record: Uint8Array) => {
        const revised = reviseRecord(record, change);
        if (revised !== null) updated++;
        return revised;
      };
      return { segments: await storeRevised(index, snapshot, { rows, revise }, signal) };
    }),
  );
  return { matched, updated };
}

async function selectRows(
  index: OpenIndex,
  snapshot: Snapshot,
  items: UpdatedItems,
  signal: AbortSignal | undefined,
): Promise<RowSets> {
  const rows = new Map<OpenSegment, Uint32Array>();
  const select = ({ segment, row }: RowRef) => {
    const bits = rows.get(segment) ?? noRows(segment.reader.footer.rows);
    rows.set(segment, bits);
    addRow(bits, row);
  };
  if (items.filter !== undefined) {
    await forEachMatch(snapshot, await matchingSegments(snapshot, items.filter, signal), select);
  } else {
    const found = await snapshot.findIds(await fingerprintsOf(index, new Set(items.ids)));
    for (const ref of found) select(ref);
  }
  return rows;
}

async function storeRevised(
  index: OpenIndex,
  snapshot: Snapshot,
  change: RowChange,
  signal: AbortSignal | undefined,
): Promise<StoredSegment[]> {
  const { manifest, model } = snapshot;
  const dimension = dimensionOf(index, manifest);
  const stored: StoredSegment[] = [];
  if (dimension === undefined || change.rows.size === 0) return stored;
  const modelName = manifest.model?.name;
  try {
    for (const group of snapshot.namespaces) {
      const segments = group.filter((segment) => change.rows.has(segment));
      const place = { modelName, namespace: await namespaceOf(index, group) };
      const plan = { ...planFor(snapshot, segmentBytes), segments, change };
      for await (const { batch } of liveRowBatches(index, plan, dimension, [])) {
        signal?.throwIfAborted();
        const segment = await withEncoding(index.searcher, dimension, model, (encoding) =>
          index.writer.storeSegment(batch, encoding, place, signal),
        );
        stored.push(segment);
      }
    }
    return stored;
  } catch (error) {
    await index.store.delete(stored.map(({ name }) => name));
    throw error;
  }
}

/** Null if the change leaves the record as it is. Throws `invalid_request` if there is too much metadata afterwards. */
function reviseRecord(record: Uint8Array, { metadata, unset, replace }: CheckedChange): Uint8Array | null {
  const revised: Record<string, unknown> = { ...(replace ? {} : recordMetadata(record)), ...metadata };
  for (const name of unset) delete revised[name];
  const json = JSON.stringify(revised);
  if (json === recordMetadataJson(record)) return null;
  const bytes = Buffer.byteLength(json, "utf8");
  if (bytes > metadataBytesMax) {
    throw invalid(
      `metadata: expected at most ${metadataBytesMax} bytes of JSON in an item, got ${bytes} after the change`,
    );
  }
  return encodeRecord({ id: recordId(record), metadataJson: json, expiresAt: recordExpiry(record) });
}
