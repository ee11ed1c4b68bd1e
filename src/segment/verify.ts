/** Authenticates a whole segment: that every byte of it is the one that was sealed. */

import { headerBytes, ObjectOpener, type ParentKeys } from "../crypto/sealed-object.js";
import { SealdexError } from "../errors.js";
import { type Block, decodeFooter } from "./footer.js";
import type { SegmentLocation } from "./block-source.js";

/** Yields after each block, so that other work can run. Throws `corrupt` unless `bytes` are the segment that is meant. */
export function* verifySegment(
  keys: ParentKeys,
  { context, header, length, blocks, footerLength }: SegmentLocation,
  bytes: Uint8Array,
): Generator<void, void> {
  const corrupt = (what: string) => new SealdexError("corrupt", `stored object ${context.name}: ${what}`);
  if (bytes.length !== length) throw corrupt(`expected ${length} bytes, got ${bytes.length}`);
  if (Buffer.compare(bytes.subarray(0, headerBytes), header) !== 0)
    throw corrupt("it was replaced or damaged");
  const opener = new ObjectOpener(keys, context, header);
  const footer = decodeFooter(opener.open(blocks - 1, bytes.subarray(length - footerLength)));
  const sections = Object.values(footer).filter((section): section is readonly Block[] =>
    Array.isArray(section),
  );
  let opened = 0;
  for (const block of sections.flat()) {
    opener.open(block.number, bytes.subarray(block.offset, block.offset + block.length));
    opened++;
    yield;
  }
  if (opened !== blocks - 1) {
    throw new SealdexError("internal", `stored object ${context.name}: a part of it was not verified`);
  }
}
