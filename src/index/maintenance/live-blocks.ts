/** Passes over all live rows of some segments, a code block at a time. */

import { gather } from "../../engine/rows.js";
import type { CodeBlock } from "../../state/segment/code-table.js";
import { countRows, hasRow, noRows } from "../../state/segment/row-bits.js";
import { yieldIfDue, yieldToEventLoop } from "../../async/event-loop.js";
import type { OpenSegment, Shadow, Snapshot } from "../../query/snapshot/snapshot.js";

/** The live rows of a code block. */
export interface LiveBlock {
  readonly segment: OpenSegment;
  readonly block: CodeBlock;
  /** Positions of the live rows in the block, ascending. */
  readonly kept: readonly number[];
  /** Of all rows of the block, four words each. */
  readonly fingerprints: Uint32Array;
  /** Of all rows of the block, as its segment's codec encoded them. */
  readonly codes: Uint8Array;
}

const none = noRows(0);

/** Segment by segment, oldest first; or list by list, for segments that are grouped by the same lists. */
export type BlockOrder = "by segment" | "by list";

/** Sets of rows, see row-bits.ts. */
export type RowSets = ReadonlyMap<OpenSegment, Uint32Array>;

/** Live rows of some segments, block by block. `only`: of these rows. */
export async function* liveBlocks(
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
  order: BlockOrder = "by segment",
  only?: RowSets,
): AsyncGenerator<LiveBlock> {
  const isWanted = (segment: OpenSegment, block: CodeBlock) =>
    only === undefined ||
    countRows(only.get(segment) ?? none, block.firstRow, block.firstRow + block.rows) > 0;
  const blocks: { readonly segment: OpenSegment; readonly block: CodeBlock }[] = [];
  for (const segment of segments) {
    for (const block of segment.reader.footer.codes) {
      if (isWanted(segment, block)) blocks.push({ segment, block });
    }
    await yieldIfDue();
  }
  if (order === "by list") blocks.sort((a, b) => a.block.list - b.block.list);
  const shadows = new Map<OpenSegment, Shadow>();
  // While a block is worked on, the next one is read.
  const read = (i: number) => {
    const reading = blocks[i]?.segment.reader.readCodes(blocks[i].block);
    // It is awaited later; until then its rejection must not count as unhandled.
    reading?.catch(() => undefined);
    return reading;
  };
  let reading = read(0);
  try {
    for (const [i, { segment, block }] of blocks.entries()) {
      const shadow = shadows.get(segment) ?? (await snapshot.pinShadow(segment));
      shadows.set(segment, shadow);
      const { fingerprints, codes } = await reading;
      reading = read(i + 1);
      const kept: number[] = [];
      const wanted = only?.get(segment);
      for (let row = 0; row < block.rows; row++) {
        const at = 4 * row;
        const isShadowed = shadow.has(
          fingerprints[at],
          fingerprints[at + 1],
          fingerprints[at + 2],
          fingerprints[at + 3],
        );
        if (!isShadowed && (wanted === undefined || hasRow(wanted, block.firstRow + row))) kept.push(row);
      }
      if (kept.length === 0) continue;
      yield { segment, block, kept, fingerprints, codes };
      await yieldToEventLoop();
    }
  } finally {
    await reading?.catch(() => undefined);
    for (const { release } of shadows.values()) release();
  }
}

/** Vectors of live rows, layout (kept, dimension), as the segment's codec decodes them. */
export function liveVectors({ segment, block, kept, codes }: LiveBlock): Float32Array {
  const { codec, footer } = segment.reader;
  const vectors = codec.decode(codes, block.rows);
  return kept.length === block.rows ? vectors : gather(vectors, footer.dimension, Uint32Array.from(kept));
}
