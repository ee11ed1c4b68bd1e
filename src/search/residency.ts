/** Where in kernel memory the code blocks of a snapshot lie, as a kernel finds them. */

import { isCodedModel } from "../engine/model.js";
import { ListBlockTable } from "../engine/list-block-table.js";
import { type CacheGroup, namedKey } from "../segment/cache-group.js";
import type { IndexCache } from "../segment/index-cache.js";
import type { OpenCodes } from "../segment/opened-blocks.js";
import type { ListBlock, Snapshot } from "./snapshot.js";

const tableKey = namedKey<ListBlockTable>("list block table");

/** Keeps the table of the newest snapshot that was searched, in the cache of the blocks themselves. */
export class Residency {
  readonly #cache: IndexCache;
  readonly #group: CacheGroup;
  /** The version of the snapshot whose table was put into the cache last. */
  #version = 0;

  constructor(cache: IndexCache) {
    this.#cache = cache;
    this.#group = cache.groupOf(this);
  }

  /**
   * The table of a snapshot, valid until the next await. Making it may evict blocks. Undefined if the snapshot is not the
   * newest, if no search would use a table, because the index is not trained or its rows are codes alone, or if the cache
   * has no room.
   */
  ensureTable(snapshot: Snapshot): ListBlockTable | undefined {
    const { model, manifest } = snapshot;
    if (model === undefined || isCodedModel(model) || manifest.version < this.#version) return undefined;
    if (this.#version !== manifest.version || this.#group.peek(tableKey) === undefined) {
      const { firsts, all, rowsMax } = snapshot.listBlocks;
      const newer = all.map((listBlock) => listBlock.newerSegments);
      this.#group.put(tableKey, new ListBlockTable(firsts, newer, rowsMax));
      this.#version = manifest.version;
    }
    const table = this.#group.peek(tableKey);
    if (table !== undefined) table.epoch = this.#cache.epoch;
    return table;
  }

  /** Records the addresses of these blocks of a snapshot, which are in memory now, if there is a table. Evicts nothing. */
  recordAddresses(snapshot: Snapshot, blocks: readonly ListBlock[], codes: readonly OpenCodes[]): void {
    const table = this.#group.peek(tableKey);
    if (table === undefined || this.#version !== snapshot.manifest.version) return;
    blocks.forEach(({ number }, i) => table.put(number, codes[i].codes.address, this.#cache.epoch));
  }

  /** Counts a use of the table's blocks, see `IndexCache.tick`. */
  tick(): number {
    return this.#cache.tick();
  }
}
