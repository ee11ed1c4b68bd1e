/** Where in kernel memory the code blocks of a snapshot lie, as a kernel finds them. */

import type { LoadedCodes } from "../engine/codes/codec.js";
import { hasOwnLists, type Model } from "../engine/model.js";
import { ListBlockTable } from "../engine/scan/list-block-table.js";
import { type CacheGroup, entryBytes, namedKey } from "../state/cache/cache-group.js";
import type { IndexCache } from "../state/cache/index-cache.js";
import type { OpenCodes } from "../state/segment/opened-blocks.js";
import type { ListBlock, Snapshot } from "./snapshot/snapshot.js";
import { listBlocksOf, type SpilledSegments, spilledSegments } from "./secondary-segments.js";

const tableKey = namedKey<ListBlockTable>("list block table");
/** The epoch of a search that is to scan nothing. */
export const noEpoch = 0xffffffff;
const keep = () => undefined;
const noSegments: SpilledSegments = { segments: [], areAll: false };

/** A table that is in use. */
interface UsedTable {
  readonly table: ListBlockTable;
  /** The one in which blocks were put that are in memory now. */
  readonly epoch: number;
  release(): void;
}

/** Keeps the table of the newest snapshot that was searched, in the cache of the blocks themselves. */
export class Residency {
  readonly #cache: IndexCache;
  readonly #group: CacheGroup;
  /** Of the snapshot whose table was put into the cache last. */
  #version = 0;
  #asOf = 0;
  /** Bytes of that table in the cache. */
  #bytes = 0;
  /** Whether eviction made room for it. */
  #wasKept = false;
  #spilled = noSegments;

  constructor(cache: IndexCache) {
    this.#cache = cache;
    this.#group = cache.groupOf(this);
  }

  /**
   * The table of a snapshot, valid until the next await. Making it may evict blocks; if that makes no room for it, not again for the same snapshot.
   * Undefined if the snapshot is not the newest, if it has no model, or if the cache has no room.
   */
  ensureTable(snapshot: Snapshot): ListBlockTable | undefined {
    if (snapshot.model === undefined || this.#isOlder(snapshot)) return undefined;
    const isMissing = this.#group.peek(tableKey) === undefined;
    if (!this.#isOf(snapshot) || (isMissing && (this.#wasKept || this.#cache.blocks.hasRoom(this.#bytes))))
      this.#putTable(snapshot);
    return this.#group.peek(tableKey);
  }

  /** The same, or if there is none, a table in which no block is in memory. Call `release` before the next await. */
  use(snapshot: Snapshot): UsedTable {
    const kept = this.ensureTable(snapshot);
    if (kept !== undefined) return { table: kept, epoch: this.#cache.epoch, release: keep };
    const table = new ListBlockTable(listBlocksOf(snapshot, []));
    return { table, epoch: noEpoch, release: () => table.free() };
  }

  #putTable(snapshot: Snapshot): void {
    const { manifest, expired } = snapshot;
    this.#spilled = spilledSegments(snapshot);
    const table = new ListBlockTable(listBlocksOf(snapshot, this.#spilled.segments));
    this.#version = manifest.version;
    this.#asOf = expired.asOf;
    this.#bytes = table.bytes + entryBytes;
    this.#group.put(tableKey, table);
    this.#wasKept = this.#group.peek(tableKey) !== undefined;
  }

  /** The segments of the table's snapshot whose rows are in second lists, too. */
  get spilled(): SpilledSegments {
    return this.#spilled;
  }

  /** Records the addresses of these blocks of a snapshot, which are in memory now, if there is a table. Evicts nothing. */
  recordAddresses(snapshot: Snapshot, blocks: readonly ListBlock[], codes: readonly OpenCodes[]): void {
    const table = this.#group.peek(tableKey);
    if (table === undefined || !this.#isOf(snapshot)) return;
    blocks.forEach(({ number }, i) => {
      if (!isComparable(codes[i].codes, snapshot.model)) return;
      table.put(number, codes[i].codes.address, this.#cache.epoch);
    });
  }

  /** Whether the table is that of a snapshot. */
  #isOf({ manifest, expired }: Snapshot): boolean {
    return this.#version === manifest.version && this.#asOf === expired.asOf;
  }

  #isOlder({ manifest, expired }: Snapshot): boolean {
    const { version } = manifest;
    return version < this.#version || (version === this.#version && expired.asOf < this.#asOf);
  }

  /** Counts a use of the table's blocks, see `BlockCache.tick`. */
  tick(): number {
    return this.#cache.blocks.tick();
  }
}

/** Whether a block can be compared with a query's tables of a model: codes are of the same one, and relative to reference centroids of known distance. */
function isComparable(codes: LoadedCodes, model: Model | undefined): boolean {
  if (codes.kind !== "codes") return true;
  return codes.model === model && (codes.reference !== undefined || !hasOwnLists(codes.model));
}
