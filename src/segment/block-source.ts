/** Sealed blocks of one segment, read from storage and opened. Nothing of them is used before it is authenticated. */

import type { KeyObject } from "node:crypto";
import { ObjectOpener, type ObjectContext } from "../crypto/sealed-object.js";
import { SealdexError } from "../errors.js";
import type { BlobStore } from "../storage/blob-store.js";
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

/** Neighbouring blocks are read in one request of at most this many bytes. */
const requestBytesMax = 4 * 1024 * 1024;
/** A segment up to this long is read whole when it is opened: a second request would take longer than the bytes. */
const wholeBytesMax = 256 * 1024;
/** Blocks opened at a time to take rows from them, in bytes as stored. */
const heldBytesMax = 16 * 1024 * 1024;

export class BlockSource {
  readonly #name: string;
  readonly #opener: ObjectOpener;
  readonly #store: BlobStore;
  /** The object as stored, where it is short. */
  readonly #whole: Uint8Array | undefined;

  private constructor(name: string, opener: ObjectOpener, store: BlobStore, whole: Uint8Array | undefined) {
    this.#name = name;
    this.#opener = opener;
    this.#store = store;
    this.#whole = whole;
  }

  /** Reads the last block, which is the directory, or all of a short segment. Throws `missing_object` or `corrupt`. */
  static async open(
    key: KeyObject,
    { context, header, length, blocks, directoryLength }: SegmentLocation,
    store: BlobStore,
  ): Promise<{ source: BlockSource; last: Uint8Array }> {
    const opener = new ObjectOpener(key, context, header);
    const start = length <= wholeBytesMax ? 0 : length - directoryLength;
    const read = await readRange(store, context.name, start, length - start);
    const last = opener.open(blocks - 1, read.subarray(read.length - directoryLength));
    return { source: new BlockSource(context.name, opener, store, start === 0 ? read : undefined), last };
  }

  /** Plaintexts of blocks given in ascending order; neighbours share a request. */
  async read(blocks: readonly Block[]): Promise<Uint8Array[]> {
    const requests: (readonly Block[])[] = [];
    for (let done = 0; done < blocks.length; done += requests[requests.length - 1].length) {
      requests.push(leading(blocks.slice(done)));
    }
    const read = requests.map(async (request) => {
      const start = request[0].offset;
      const last = request[request.length - 1];
      const end = last.offset + last.length;
      const bytes =
        this.#whole?.subarray(start, end) ?? (await readRange(this.#store, this.#name, start, end - start));
      return request.map((block) => {
        const from = block.offset - start;
        return this.#opener.open(block.number, bytes.subarray(from, from + block.length));
      });
    });
    return (await Promise.all(read)).flat();
  }
}

async function readRange(
  store: BlobStore,
  name: string,
  offset: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = await store.read(name, { offset, length });
  if (bytes === null) throw new SealdexError("missing_object", `stored object ${name}: it is gone`);
  if (bytes.length !== length) throw new SealdexError("corrupt", `stored object ${name}: it is cut short`);
  return bytes;
}

/** The blocks from the first on that lie side by side and fit in one request. */
export function leading<B extends Block>(blocks: readonly B[]): readonly B[] {
  let end = 1;
  while (end < blocks.length) {
    const { offset, length } = blocks[end];
    const before = blocks[end - 1];
    if (before.offset + before.length !== offset) break;
    if (offset + length - blocks[0].offset > requestBytesMax) break;
    end++;
  }
  return blocks.slice(0, end);
}

/** Blocks in groups of about the bytes that may be open at a time. */
export function groupsOf<B extends Block>(blocks: readonly B[]): B[][] {
  const groups: B[][] = [];
  let bytes = Infinity;
  for (const block of blocks) {
    if (bytes + block.length > heldBytesMax) {
      groups.push([]);
      bytes = 0;
    }
    groups[groups.length - 1].push(block);
    bytes += block.length;
  }
  return groups;
}
