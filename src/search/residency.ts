/** Where in kernel memory the code blocks of a snapshot lie, as a kernel finds them. */

import { isCodedModel } from "../engine/model.js";
import { ListBlockTable } from "../engine/list-block-table.js";
import type { BlockCache } from "../segment/block-cache.js";
import type { OpenCodes } from "../segment/segment-reader.js";
import type { ListBlock, Snapshot } from "./snapshot.js";

/** Keeps the table of the newest snapshot that was searched, in the cache of the blocks themselves. */
export class Residency {
  readonly #cache: BlockCache;
  /** The version of the snapshot whose table was put into the cache last. */
  #version = 0;

  constructor(cache: BlockCache) {
    this.#cache = cache;
  }

  /**
   * The table of a snapshot, valid until the next await. Making it may evict blocks. Undefined if the snapshot is not the
   * newest, if no search would use a table, because the index is not trained or its rows are codes alone, or if the cache
   * has no room.
   */
  ensureTable(snapshot: Snapshot): ListBlockTable | undefined {
    const { model, manifest } = snapshot;
    if (model === undefined || isCodedModel(model) || manifest.version < this.#version) return undefined;
    if (this.#version !== manifest.version || this.#cache.peek(this) === undefined) {
      const { firsts, all, rowsMax } = snapshot.listBlocks;
      const newer = all.map((listBlock) => listBlock.newerSegments);
      this.#cache.put(this, new ListBlockTable(firsts, newer, rowsMax));
      this.#version = manifest.version;
    }
    const table = this.#cache.peek(this) as ListBlockTable | undefined;
    if (table !== undefined) table.epoch = this.#cache.epoch;
    return table;
  }

  /** Records the addresses of these blocks of a snapshot, which are in memory now, if there is a table. Evicts nothing. */
  recordAddresses(snapshot: Snapshot, blocks: readonly ListBlock[], codes: readonly OpenCodes[]): void {
    const table = this.#cache.peek(this) as ListBlockTable | undefined;
    if (table === undefined || this.#version !== snapshot.manifest.version) return;
    blocks.forEach(({ number }, i) => table.put(number, codes[i].codes.record, this.#cache.epoch));
  }

  /** Counts a use of the table's blocks, see `BlockCache.tick`. */
  tick(): number {
    return this.#cache.tick();
  }
}
