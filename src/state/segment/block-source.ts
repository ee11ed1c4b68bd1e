/** Sealed blocks of one segment, read from storage and opened. Nothing of them is used before it is authenticated. */

import { ObjectOpener, type ObjectContext, type ParentKeys } from "../../crypto/sealed-object.js";
import type { BlobStore } from "../../storage/blob-store.js";
import { type CacheGroup, type CachedValue, namedKey } from "../cache/cache-group.js";
import { readRange, requestsOf } from "./block-requests.js";
import type { Block } from "./block.js";
import { entryWords } from "./id-table.js";
import { yieldIfDue } from "../../async/event-loop.js";
import { currentProfile } from "../../async/profile.js";
import type { IndexCache } from "../cache/index-cache.js";

/** A segment as its manifest describes it, before any of it is read. */
export interface SegmentLocation {
  readonly context: ObjectContext;
  readonly header: Uint8Array;
  /** Length of the whole object, in bytes. */
  readonly length: number;
  readonly blocks: number;
  readonly footerLength: number;
  readonly rows: number;
  /** Number of tombstones. */
  readonly deleted: number;
}

/**
 * How much of a segment's end is read when it is opened: the footer and the bytes before it, which are all of a short
 * segment, and of others ids and columns as far as they fit. A second request would take longer than the bytes. Where not even the id
 * table fits, the footer is enough.
 */
const tailBytes = 256 * 1024;

/** The end of the object as stored. */
interface Tail extends CachedValue {
  readonly sealed: Uint8Array;
}

const tailKey = namedKey<Tail>("tail");

export class BlockSource {
  /** Opened parts of the segment. */
  readonly cache: CacheGroup;
  readonly location: SegmentLocation;
  readonly #opener: ObjectOpener;
  readonly #store: Pick<BlobStore, "read">;

  private constructor(
    location: SegmentLocation,
    opener: ObjectOpener,
    store: Pick<BlobStore, "read">,
    cache: IndexCache,
  ) {
    this.location = location;
    this.#opener = opener;
    this.#store = store;
    this.cache = cache.groupOf(this);
  }

  /** Reads the end, with the last block, which is the footer. Throws `missing_object` or `corrupt`. */
  static async open(
    keys: ParentKeys,
    location: SegmentLocation,
    store: Pick<BlobStore, "read">,
    cache: IndexCache,
  ): Promise<{ source: BlockSource; last: Uint8Array }> {
    const { context, header, length, blocks, footerLength, rows, deleted } = location;
    const opener = new ObjectOpener(keys, context, header);
    const idTableBytes = 4 * entryWords * (rows + deleted);
    const isWorthMore = footerLength + idTableBytes <= tailBytes;
    const start = Math.max(0, length - (isWorthMore ? tailBytes : footerLength));
    const sealed = await readRange(store, context.name, start, length - start);
    const last = opener.open(blocks - 1, sealed.subarray(sealed.length - footerLength));
    const source = new BlockSource(location, opener, store, cache);
    source.cache.put(tailKey, { sealed, bytes: sealed.buffer.byteLength });
    return { source, last };
  }

  /** Plaintexts of blocks, in their order; those that lie near one another share a request. */
  async read(blocks: readonly Block[]): Promise<Uint8Array[]> {
    const opened = new Map<Block, Uint8Array>();
    const read = requestsOf(blocks).map(async (request) => {
      const start = request[0].offset;
      const last = request[request.length - 1];
      const bytes = await this.#range(start, last.offset + last.length);
      // Before they are opened, since many requests may be answered in one turn of the event loop.
      await yieldIfDue();
      const profile = currentProfile();
      const stage = profile?.enter("decrypt");
      for (const block of request) {
        const from = block.offset - start;
        opened.set(block, this.#opener.open(block.number, bytes.subarray(from, from + block.length)));
      }
      if (stage !== undefined) profile?.enter(stage);
    });
    await Promise.all(read);
    return blocks.map((block) => opened.get(block) as Uint8Array);
  }

  /** Bytes from `start` to `end` of the object as stored. */
  async #range(start: number, end: number): Promise<Uint8Array> {
    const { context, length } = this.location;
    const sealed = this.cache.peek(tailKey)?.sealed;
    const tailStart = length - (sealed?.length ?? 0);
    return sealed !== undefined && start >= tailStart
      ? sealed.subarray(start - tailStart, end - tailStart)
      : readRange(this.#store, context.name, start, end - start);
  }
}
