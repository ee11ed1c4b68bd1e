/** Bytes of a response's body, checked against the request and the response's own headers. */

import type { ByteRange } from "./blob-store.js";
import { joinBytes } from "./join-bytes.js";
import { ServiceError } from "./service-error.js";

/** The most memory that is allocated because of a header alone. */
const trustedBytesMax = 1024 * 1024 * 1024;

/**
 * The whole body, in memory of its own. `length`: from the response's header; with it, chunks are copied as they arrive,
 * not all at once in the end. Throws a ServiceError for a body of another length, or longer than `bytesMax`.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  { length, bytesMax = trustedBytesMax }: { readonly length: number | undefined; readonly bytesMax?: number },
): Promise<Uint8Array> {
  const isKnown = length !== undefined && length <= bytesMax;
  const parts: Uint8Array[] = [];
  const bytes = new Uint8Array(isKnown ? length : 0);
  let end = 0;
  for await (const part of body) {
    if (end + part.length > (isKnown ? length : bytesMax)) {
      throw new ServiceError({ reason: "a response that is too long" });
    }
    if (isKnown) bytes.set(part, end);
    else parts.push(part);
    end += part.length;
  }
  if (isKnown) {
    if (end < length) throw new ServiceError({ reason: "a response that is too short" });
    return bytes;
  }
  return joinBytes(parts);
}

/**
 * The requested range of an object. `contentRange`: the header of that name; without one, the response is the
 * whole object, which a server may return. Throws a ServiceError for a range other than the requested one.
 */
export function checkRange(
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
