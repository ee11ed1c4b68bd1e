/** Which ranges of a stored segment are requested at once. */

import { SealdexError } from "../../errors.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { Block } from "./block.js";

/** Blocks that lie near one another are read in one request of at most this many bytes. */
const requestBytesMax = 4 * 1024 * 1024;
/** The largest gap between them: from any storage, a request takes longer than these bytes. */
const gapBytesMax = 64 * 1024;
/** How many times the bytes that are wanted a request may have. */
const spanMax = 3;
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

/** The blocks from the first on that are read in one request. */
export function leading<B extends Block>(blocks: Iterable<B>): readonly B[] {
  const taken: B[] = [];
  let wanted = 0;
  for (const block of blocks) {
    const { offset, length } = block;
    const [first, before] = [taken[0] ?? block, taken[taken.length - 1] ?? block];
    const span = offset + length - first.offset;
    wanted += length;
    const isNear = offset - (before.offset + before.length) <= gapBytesMax;
    if (taken.length > 0 && (!isNear || span > requestBytesMax || span > spanMax * wanted)) break;
    taken.push(block);
  }
  return taken;
}

/** Blocks as they are requested, whatever their order. */
export function requestsOf(blocks: readonly Block[]): (readonly Block[])[] {
  const ascending = distinct(blocks);
  const requests: (readonly Block[])[] = [];
  for (let done = 0; done < ascending.length; done += requests[requests.length - 1].length) {
    requests.push(leading(rest(ascending, done)));
  }
  return requests;
}

function* rest<B>(blocks: readonly B[], first: number): Generator<B> {
  for (let i = first; i < blocks.length; i++) yield blocks[i];
}

/** Each block once, in the order in which they lie in the object. */
export function distinct<B extends Block>(blocks: readonly B[]): B[] {
  return [...new Set(blocks)].sort((a, b) => a.number - b.number);
}

/** Blocks in groups of about the bytes that may be open at a time. */
export function groupsOf<B extends Block>(blocks: Iterable<B>): B[][] {
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
