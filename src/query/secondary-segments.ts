/** Which segments of a snapshot have rows in second lists, too (see engine/second-lists.ts), as the list block table wants to know. */

import type { ListBlocksOf } from "../engine/scan/list-block-table.js";
import type { OpenSegment, Snapshot } from "./snapshot/snapshot.js";

export interface SpilledSegments {
  readonly segments: readonly OpenSegment[];
  /** Whether all rows that are grouped by the model are in them. */
  readonly areAll: boolean;
}

export function spilledSegments(snapshot: Snapshot): SpilledSegments {
  const grouped = snapshot.segments.filter(
    ({ ref, reader }) => reader.footer.rows > 0 && ref.model === snapshot.manifest.model?.name,
  );
  const segments = grouped.filter(({ reader }) => reader.footer.spilled.length > 0);
  return { segments, areAll: segments.length === grouped.length };
}

/** The blocks of a snapshot, and which are of `spilled` segments. */
export function listBlocksOf(snapshot: Snapshot, spilled: readonly OpenSegment[]): ListBlocksOf {
  const { firsts, all, rowsMax } = snapshot.listBlocks;
  const placesOf = new Map(
    spilled.map((segment) => {
      const { length } = segment.reader.footer.codes;
      return [segment, { firstRows: new Uint32Array(length), numbers: new Uint32Array(length) }];
    }),
  );
  const blocks = all.map(({ number, segment, block, newerSegments }) => {
    const places = placesOf.get(segment);
    if (places !== undefined) {
      places.firstRows[block.number] = block.firstRow;
      places.numbers[block.number] = number;
    }
    return { newerSegments, isSpilled: places !== undefined };
  });
  return { firsts, blocks, rowsMax, spilled: [...placesOf.values()] };
}
