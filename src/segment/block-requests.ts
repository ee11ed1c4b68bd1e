/** Which ranges of a stored segment are requested at once. */

import { SealdexError } from "../errors.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { Block } from "./footer.js";

/** Blocks that lie near one another are read in one request of at most this many bytes. */
const requestBytesMax = 4 * 1024 * 1024;
/** What may lie between them: from any storage, a request takes longer than so many bytes more. */
const gapBytesMax = 64 * 1024;
/** Blocks opened at a time to take rows from them, in bytes as stored. */
const heldBytesMax = 64 * 1024 * 1024;

/** Throws `missing_object` or `corrupt` if the range is incomplete. */
export async function readRange(
  store: Pick<BlobStore, "read">,
  name: string,
  offset: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = await store.read(name, { offset, length });
  if (bytes === null) throw new SealdexError("missing_object", `stored object ${name}: it is gone`);
  if (bytes.length !== length) throw new SealdexError("corrupt", `stored object ${name}: it is cut short`);
  return bytes;
}

/**
 * The blocks from the first on that are read in one request. At most as many bytes are read in vain as are wanted.
 */
export function leading<B extends Block>(blocks: readonly B[]): readonly B[] {
  let end = 1;
  let wanted = blocks[0].length;
  while (end < blocks.length) {
    const { offset, length } = blocks[end];
    const before = blocks[end - 1];
    const span = offset + length - blocks[0].offset;
    wanted += length;
    if (offset - (before.offset + before.length) > gapBytesMax) break;
    if (span > requestBytesMax || span > 2 * wanted) break;
    end++;
  }
  return blocks.slice(0, end);
}

/** Blocks as they are requested, whatever their order. */
export function requestsOf(blocks: readonly Block[]): (readonly Block[])[] {
  const ascending = distinct(blocks);
  const requests: (readonly Block[])[] = [];
  for (let done = 0; done < ascending.length; done += requests[requests.length - 1].length) {
    requests.push(leading(ascending.slice(done)));
  }
  return requests;
}

/** Each block once, in the order in which they lie in the object. */
export function distinct<B extends Block>(blocks: readonly B[]): B[] {
  return [...new Set(blocks)].sort((a, b) => a.number - b.number);
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
