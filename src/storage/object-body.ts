/** Bytes of an answer's body, held against what was asked for and what the answer says of itself. */

import type { ByteRange } from "./blob-store.js";
import { ServiceError } from "./service-error.js";

/** The whole body, in memory of its own. Throws a ServiceError if it is longer than `bytesMax`. */
export async function collect(
  body: AsyncIterable<Uint8Array>,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > bytesMax) throw new ServiceError({ reason: "an answer that is too long" });
    parts.push(part);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * The part of an object that was asked for. `contentRange`: the header of that name; without one, the answer is the
 * whole object, as a server may give it. Throws a ServiceError for a part other than the one asked for.
 */
export function checkPart(
  bytes: Uint8Array,
  range: ByteRange | undefined,
  contentRange: string | undefined,
): Uint8Array {
  if (range === undefined) {
    if (contentRange === undefined) return bytes;
  } else if (contentRange === undefined) {
    return bytes.slice(range.offset, range.offset + range.length);
  } else {
    const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(contentRange) ?? [];
    const end = Math.min(range.offset + range.length, Number(size));
    const isAsked = Number(first) === range.offset && Number(last) + 1 === end;
    if (isAsked && bytes.length === end - range.offset) return bytes;
  }
  throw new ServiceError({ reason: "another part of the object" });
}
