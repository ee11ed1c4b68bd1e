/** Which ranges of a stored segment are requested at once. */

import { SealdexError } from "../errors.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { Block } from "./footer.js";

/** Neighbouring blocks are read in one request of at most this many bytes. */
const requestBytesMax = 4 * 1024 * 1024;
/** Blocks opened at a time to take rows from them, in bytes as stored. */
const heldBytesMax = 16 * 1024 * 1024;

/** Throws `missing_object` or `corrupt` if the range is incomplete. */
export async function readRange(
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
