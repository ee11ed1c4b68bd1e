/** Stores items: segments first, then the one commit that makes all of them visible at once. */

import { SealdexError } from "../errors.js";
import { type Encoding, vectorRows } from "../state/segment/row-source.js";
import type { Batch } from "../state/segment/segment-writer.js";
import { createSemaphore } from "../async/semaphore.js";
import { commitAddition } from "./commit-changes.js";
import { checkDimensionFits } from "./define-index.js";
import { erasuresOf, type Manifest } from "../state/commit/manifest.js";
import type { Namespace } from "../state/commit/namespaces.js";
import { fingerprintsIn } from "../query/snapshot/find-rows.js";
import { type Row, type Rows, rowsOf } from "../state/segment/row.js";
import { withEncoding } from "./open/row-encoding.js";
import type { StoredSegment } from "../state/commit/replace-segments.js";
import { dimensionOf } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";
import { retryWithReservation } from "./open/retry-with-reservation.js";
import type { SegmentPlace } from "./open/object-writer.js";
import type { PackedItems } from "./pack-items.js";

/** Vectors and texts of one segment; bounds the memory of sealing. */
const segmentBytesMax = 32 * 1024 * 1024;
/** Segments of one upsert that are sealed and stored at a time. */
const storingMax = 4;

/** A condition on the state that the items are committed to. */
export interface UpsertGuard {
  /** No namespace and no group has been erased since there were this many erasures. */
  readonly erasures: number;
  /** Something that must be stored before. */
  readonly stored: Promise<void>;
}

/**
 * Returns false, and stores nothing, if the guard's condition does not hold. Throws `dimension_mismatch` if another writer has meanwhile
 * decided on another dimension.
 */
export async function upsert(
  index: OpenIndex,
  packed: PackedItems,
  signal: AbortSignal | undefined,
  guard?: UpsertGuard,
): Promise<boolean> {
  const { rows, dimension } = packed;
  if (rows.length === 0) return true;
  const holds = (manifest: Manifest) => guard === undefined || erasuresOf(manifest) === guard.erasures;
  const attempt = async (reservation?: string) => {
    // The known state suffices: the commit detects whether it has changed.
    const { manifest, model } = await index.snapshots.recentModel();
    if (!holds(manifest)) return false;
    const modelName = manifest.model?.name;
    checkDimension(index, manifest, dimension);
    const namespace = await namespaceFor(index, manifest);
    const segments = await withEncoding(index.searcher, dimension, model, (encoding) =>
      storePacked(index, packed, encoding, { modelName, namespace }, signal),
    );
    try {
      await guard?.stored;
    } catch (error) {
      await index.store.delete(segments.map(({ name }) => name));
      throw error;
    }
    const fits = (latest: Manifest) => {
      checkDimension(index, latest, dimension);
      // If it was trained in the meantime, the rows are grouped by lists that are no longer the index's.
      return holds(latest) && latest.model?.name === modelName;
    };
    const addition = { segments, dimension, namespace };
    return (await commitAddition(index, addition, fits, { signal, reservation })) === null ? null : true;
  };
  // Erasures of the namespace that follow one another would be first again and again.
  if (index.namespace !== undefined) return (await retryWithReservation(index, attempt)) === true;
  for (;;) {
    const result = await attempt();
    if (result !== null) return result;
  }
}

/**
 * The namespace that an index is restricted to, as it is to be written after `manifest`, or after the newest if it was erased since;
 * undefined if it is not restricted.
 */
export async function namespaceFor(
  { namespace, namespaces, log }: OpenIndex,
  manifest: Manifest,
): Promise<Namespace | undefined> {
  if (namespace === undefined) return undefined;
  for (;;) {
    try {
      return await namespaces.forWriting(namespace, manifest);
    } catch (error) {
      if (!(error instanceof SealdexError && error.code === "missing_object")) throw error;
      const newest = await log.newest();
      if (namespaces.idOf(namespace, newest) === namespaces.idOf(namespace, manifest)) throw error;
      manifest = newest;
    }
  }
}

/** Throws `dimension_mismatch` for vectors that do not fit the index as it is now. */
export function checkDimension(index: OpenIndex, manifest: Manifest, dimension: number): void {
  checkDimensionFits(index.config, dimension);
  const expected = dimensionOf(index, manifest);
  if (expected !== undefined && expected !== dimension) {
    throw new SealdexError(
      "dimension_mismatch",
      `items: expected vectors of ${expected} numbers, got ${dimension}`,
    );
  }
}

/** Writes rows as segments of bounded size, sealing one while those before it are stored. All or, in the end, none. */
export async function storePacked(
  index: OpenIndex,
  { rows, vectors, dimension }: PackedItems,
  encoding: Encoding,
  place: SegmentPlace,
  signal: AbortSignal | undefined,
): Promise<StoredSegment[]> {
  const batches: Batch[] = [];
  for (let start = 0; start < rows.length;) {
    let bytes = 0;
    let end = start;
    while (end < rows.length && (end === start || bytes < segmentBytesMax)) {
      const { record, contents } = rows[end++];
      bytes += 4 * dimension + record.length + (contents?.length ?? 0);
    }
    const slice = vectors.subarray(start * dimension, end * dimension);
    batches.push({
      dimension,
      rows: rowsIn(place.namespace?.id, rows.slice(start, end)),
      source: vectorRows([slice], dimension),
      deleted: [],
    });
    start = end;
  }
  const inTurn = createSemaphore(storingMax);
  const storing = batches.map((batch) =>
    inTurn(() => index.writer.storeSegment(batch, encoding, place, signal)),
  );
  const results = await Promise.allSettled(storing);
  const stored = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = results.find((result) => result.status === "rejected");
  if (failed === undefined) return stored;
  if (stored.length > 0) await index.store.delete(stored.map(({ name }) => name));
  throw failed.reason;
}

/** Rows whose fingerprints are those of items in no namespace, for a namespace. */
function rowsIn(namespace: string | undefined, rows: readonly Row[]): Rows {
  if (namespace === undefined) return rowsOf(rows);
  const fingerprints = fingerprintsIn(
    namespace,
    rows.map((row) => row.fingerprint),
  );
  return rowsOf(rows.map((row, i) => ({ ...row, fingerprint: fingerprints[i] })));
}
