/** Where in kernel memory the code blocks of a snapshot are, as a kernel finds them. */

import { isCodedModel } from "../engine/model.js";
import { ListBlockTable } from "../engine/list-block-table.js";
import type { BlockCache } from "../segment/block-cache.js";
import type { OpenCodes } from "../segment/segment-reader.js";
import type { ListBlock, Snapshot } from "./snapshot.js";

/** Keeps the table of one snapshot, in the cache of the blocks themselves. */
export class Residency {
  readonly #cache: BlockCache;
  /** Whose table was put into the cache last. */
  #snapshot: Snapshot | undefined;

  constructor(cache: BlockCache) {
    this.#cache = cache;
  }

  /**
   * The table, good for as long as nothing is awaited; making it may let blocks go. Undefined where no search would use it, since
   * the index is not trained or its rows are codes alone; and where it found no room.
   */
  ensureTable(snapshot: Snapshot): ListBlockTable | undefined {
    const { model } = snapshot;
    if (model === undefined || isCodedModel(model)) return undefined;
    if (this.#snapshot !== snapshot || this.#cache.peek(this) === undefined) {
      const { firsts, all, rowsMax } = snapshot.listBlocks;
      const newer = all.map((listBlock) => listBlock.newerSegments);
      this.#cache.put(this, new ListBlockTable(firsts, newer, rowsMax));
      this.#snapshot = snapshot;
    }
    const table = this.#cache.peek(this) as ListBlockTable | undefined;
    if (table !== undefined) table.epoch = this.#cache.epoch;
    return table;
  }

  /** Takes down where these parts of a snapshot are, which are in memory now, if there is a table. Lets nothing go. */
  recordAddresses(snapshot: Snapshot, blocks: readonly ListBlock[], codes: readonly OpenCodes[]): void {
    const table = this.#cache.peek(this) as ListBlockTable | undefined;
    if (table === undefined || this.#snapshot !== snapshot) return;
    blocks.forEach(({ number }, i) => table.put(number, codes[i].codes.record, this.#cache.epoch));
  }
}
