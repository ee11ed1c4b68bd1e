/** Authenticates a whole segment: that every byte of it is the one that was sealed. And seals it again, under the keys in force. */

import {
  headerBytes,
  type ObjectContext,
  ObjectOpener,
  type ParentKeys,
} from "../../crypto/sealed-object.js";
import type { Work } from "../../engine/work.js";
import { SealdexError } from "../../errors.js";
import { blocksIn, decodeFooter } from "./footer.js";
import type { SegmentLocation } from "./block-source.js";
import { SealedParts } from "./sealed-parts.js";

/** Yields after each block, so that other work can run. Throws `corrupt` unless `bytes` are the segment that is meant. */
export function* verifySegment(keys: ParentKeys, location: SegmentLocation, bytes: Uint8Array): Work<void> {
  for (const plaintext of openBlocks(keys, location, bytes)) {
    plaintext.fill(0);
    yield;
  }
}

/** The same segment as another object, of the same length: its blocks are as long as they were. Throws as `verifySegment`. */
export function* resealSegment(
  keys: ParentKeys,
  location: SegmentLocation,
  bytes: Uint8Array,
  context: ObjectContext,
): Work<Uint8Array> {
  const parts = new SealedParts(keys, context, bytes.length);
  for (const plaintext of openBlocks(keys, location, bytes)) {
    parts.seal(plaintext);
    plaintext.fill(0);
    yield;
  }
  return yield* parts.join();
}

/** The plaintexts of all blocks, in their order. */
function* openBlocks(
  keys: ParentKeys,
  location: SegmentLocation,
  bytes: Uint8Array,
): Generator<Uint8Array, void> {
  const { context, header, length, blocks, footerLength } = location;
  const corrupt = (what: string) => new SealdexError("corrupt", `stored object ${context.name}: ${what}`);
  if (bytes.length !== length) throw corrupt(`expected ${length} bytes, got ${bytes.length}`);
  if (Buffer.compare(bytes.subarray(0, headerBytes), header) !== 0)
    throw corrupt("it was replaced or damaged");
  const opener = new ObjectOpener(keys, context, header);
  const last = opener.open(blocks - 1, bytes.subarray(length - footerLength));
  for (const { number, offset, length: sealedLength } of blocksIn(decodeFooter(last, location)))
    yield opener.open(number, bytes.subarray(offset, offset + sealedLength));
  yield last;
}
