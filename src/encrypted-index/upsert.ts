/** Stores items: segments first, then the one commit that makes all of them visible at once. */

import { SealdexError } from "../errors.js";
import type { Encoding } from "../segment/segment-writer.js";
import { checkDimensionFits } from "./definition.js";
import type { Manifest } from "./manifest.js";
import type { OpenIndex, StoredSegment } from "./open-index.js";
import type { PackedItems } from "./pack-items.js";

/** Vectors and texts of one segment; bounds what sealing holds in memory. */
const segmentBytesMax = 32 * 1024 * 1024;

/**
 * Returns the manifest that holds the items, or null where there are none. Throws `dimension_mismatch` where another writer
 * has meanwhile decided on another dimension.
 */
export async function upsert(index: OpenIndex, packed: PackedItems): Promise<Manifest | null> {
  if (packed.rows.length === 0) return null;
  for (;;) {
    const { manifest, model } = await index.snapshot();
    const modelName = manifest.model?.name;
    checkDimension(index, manifest, packed.dimension);
    const stored = await index.withEncoding(packed.dimension, model, (encoding) =>
      storePacked(index, packed, encoding, modelName),
    );
    const committed = await index.log.commit((latest) => {
      checkDimension(index, latest, packed.dimension);
      // Trained in the meantime: the rows are grouped by lists that are no longer the index's.
      if (latest.model?.name !== modelName) return null;
      const sequence = latest.version + 1;
      const segments = [...latest.segments, ...stored.map((segment) => ({ ...segment, sequence }))];
      return { ...latest, dimension: packed.dimension, segments };
    });
    if (committed !== null) return committed;
    await index.store.delete(stored.map(({ name }) => name));
  }
}

function checkDimension(index: OpenIndex, manifest: Manifest, dimension: number): void {
  checkDimensionFits(index.config, dimension);
  const expected = index.dimension(manifest);
  if (expected !== undefined && expected !== dimension) {
    throw new SealdexError(
      "dimension_mismatch",
      `items: expected vectors of ${expected} numbers, got ${dimension}`,
    );
  }
}

/** Writes rows as segments of bounded size. */
export async function storePacked(
  index: OpenIndex,
  { rows, vectors, dimension }: PackedItems,
  encoding: Encoding,
  modelName: string | undefined,
): Promise<StoredSegment[]> {
  const stored: StoredSegment[] = [];
  for (let start = 0; start < rows.length;) {
    let bytes = 0;
    let end = start;
    while (end < rows.length && (end === start || bytes < segmentBytesMax)) {
      const { record, contents } = rows[end++];
      bytes += 4 * dimension + record.length + (contents?.length ?? 0);
    }
    const slice = vectors.subarray(start * dimension, end * dimension);
    const batch = { dimension, rows: rows.slice(start, end), vectors: slice, deleted: [] };
    stored.push(await index.storeSegment(batch, encoding, modelName));
    start = end;
  }
  return stored;
}
