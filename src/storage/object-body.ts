/** The bytes of a response's body that were asked for, checked against the response's headers, and never more. */

import type { ByteRange } from "./blob-store.js";
import { joinBytes } from "./join-bytes.js";
import { ServiceError } from "./service-error.js";

/** Of a request for at least one byte. */
export function rangeHeader({ offset, length }: ByteRange): string {
  return `bytes=${offset}-${offset + length - 1}`;
}

/** What a response says of its body. */
export interface Stated {
  /** Content-Length. */
  readonly length?: number | undefined;
  /** Content-Range. Without one, the body is the whole object, which a server may answer to any request. */
  readonly range?: string | undefined;
}

/**
 * The requested part of an object, in memory of its own: copied as it arrives, not all at once in the end. What comes after it
 * is not waited for. Throws a ServiceError for another part than the requested one, and for one that is cut short.
 */
export async function readPart(
  body: AsyncIterable<Uint8Array>,
  range: ByteRange,
  stated: Stated,
): Promise<Uint8Array> {
  if (stated.range === undefined) return readBody(body, range, stated.length);
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(stated.range) ?? [];
  const end = Math.min(range.offset + range.length, Number(size));
  const isAsked = Number(first) === range.offset && Number(last) + 1 === end;
  const length = end - range.offset;
  if (isAsked && (stated.length ?? length) === length) {
    return readBody(body, { offset: 0, length }, length);
  }
  throw new ServiceError({ reason: "another part of the object" });
}

/**
 * A range of the bytes of a body. `stated`: how long the body is, if that is known. What comes after the range is cut off. Throws
 * a ServiceError for a body that ends sooner.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  { offset, length }: ByteRange,
  stated: number | undefined,
): Promise<Uint8Array> {
  const end = offset + Math.min(length, Math.max(0, (stated ?? Infinity) - offset));
  const bytes = stated === undefined ? undefined : new Uint8Array(end - offset);
  const parts: Uint8Array[] = [];
  let at = 0;
  for await (const chunk of body) {
    const part = chunk.subarray(Math.max(0, offset - at), Math.max(0, end - at));
    if (bytes === undefined) parts.push(part);
    else bytes.set(part, Math.max(0, at - offset));
    at += chunk.length;
    // Not sooner: a body that is left before its end takes its connection with it.
    if (at > end) break;
  }
  if (stated !== undefined && at < Math.min(end, stated)) {
    throw new ServiceError({ reason: "a response that is too short" });
  }
  return bytes ?? joinBytes(parts);
}
