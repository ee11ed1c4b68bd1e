/** Computes the codes of a segment's rows in their second lists, of the vectors in its code blocks. */

import type { CoarseQuantizer } from "../engine/coarse-quantizer.js";
import type { Metric } from "../engine/config.js";
import { groupsOf } from "../segment/block-requests.js";
import type { SegmentReader } from "../segment/segment-reader.js";
import { SpilledCodes } from "../segment/spilled-codes.js";
import { SealdexError } from "../errors.js";
import { run } from "../threads/run.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";

/** `quantizer`: of the model that the rows are grouped by, in memory until this is done. Blocks that are not in memory are read. */
export async function computeSpilled(
  reader: SegmentReader,
  quantizer: CoarseQuantizer,
  metric: Metric,
): Promise<SpilledCodes> {
  const seconds = await reader.secondLists(quantizer.nLists);
  const spilled = new SpilledCodes(seconds, quantizer);
  let added = 0;
  try {
    for (const blocks of groupsOf(reader.footer.codes)) {
      const opened = await reader.pinCodes(blocks);
      try {
        for (const [i, { number, firstRow, rows }] of blocks.entries()) {
          const vectors = opened[i].codes.gather(Array.from({ length: rows }, (_, row) => row));
          const lists = seconds.subarray(firstRow, firstRow + rows);
          if (firstRow !== added || lists.length !== rows) throw misfit();
          await run(spilled.add({ block: number, lists, vectors }, quantizer, metric));
          added += rows;
          await yieldIfDue();
        }
      } finally {
        reader.cache.unpin(blocks);
      }
    }
    if (added !== seconds.length) throw misfit();
    return spilled;
  } catch (error) {
    spilled.free();
    throw error;
  }
}

function misfit(): SealdexError {
  return new SealdexError("corrupt", "segment: its code blocks do not have each row once");
}
