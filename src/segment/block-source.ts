/** Sealed blocks of one segment, read from storage and opened. Nothing of them is used before it is authenticated. */

import type { KeyObject } from "node:crypto";
import { ObjectOpener, type ObjectContext } from "../crypto/sealed-object.js";
import type { BlobStore } from "../storage/blob-store.js";
import { leading, readRange } from "./block-requests.js";
import type { Block } from "./directory.js";

/** What must be known of a segment before any of it is read; kept sealed in the manifest. */
export interface SegmentLocation {
  readonly context: ObjectContext;
  readonly header: Uint8Array;
  /** Length of the whole object, in bytes. */
  readonly length: number;
  readonly blocks: number;
  readonly directoryLength: number;
}

/**
 * So much of a segment's end is read when it is opened, the directory and what lies before it: all of a short segment, of
 * others ids and columns as far as they fit. A second request would take longer than the bytes.
 */
const tailBytes = 256 * 1024;

export class BlockSource {
  readonly #location: SegmentLocation;
  readonly #opener: ObjectOpener;
  readonly #store: BlobStore;
  /** The end of the object as stored. */
  readonly #tail: Uint8Array;

  private constructor(location: SegmentLocation, opener: ObjectOpener, store: BlobStore, tail: Uint8Array) {
    this.#location = location;
    this.#opener = opener;
    this.#store = store;
    this.#tail = tail;
  }

  /** Reads the end, with the last block, which is the directory. Throws `missing_object` or `corrupt`. */
  static async open(
    key: KeyObject,
    location: SegmentLocation,
    store: BlobStore,
  ): Promise<{ source: BlockSource; last: Uint8Array }> {
    const { context, header, length, blocks, directoryLength } = location;
    const opener = new ObjectOpener(key, context, header);
    const start = Math.max(0, length - Math.max(tailBytes, directoryLength));
    const tail = await readRange(store, context.name, start, length - start);
    const last = opener.open(blocks - 1, tail.subarray(tail.length - directoryLength));
    return { source: new BlockSource(location, opener, store, tail), last };
  }

  /** Plaintexts of blocks given in ascending order; neighbours share a request. */
  async read(blocks: readonly Block[]): Promise<Uint8Array[]> {
    const { context, length } = this.#location;
    const tailStart = length - this.#tail.length;
    const requests: (readonly Block[])[] = [];
    for (let done = 0; done < blocks.length; done += requests[requests.length - 1].length) {
      requests.push(leading(blocks.slice(done)));
    }
    const read = requests.map(async (request) => {
      const start = request[0].offset;
      const last = request[request.length - 1];
      const end = last.offset + last.length;
      const bytes =
        start >= tailStart
          ? this.#tail.subarray(start - tailStart, end - tailStart)
          : await readRange(this.#store, context.name, start, end - start);
      return request.map((block) => {
        const from = block.offset - start;
        return this.#opener.open(block.number, bytes.subarray(from, from + block.length));
      });
    });
    return (await Promise.all(read)).flat();
  }
}
