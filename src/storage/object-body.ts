/** Reads the requested bytes of a response's body, checked against its headers. */

import type { ByteRange } from "./blob-store.js";
import { joinBytes } from "./join-bytes.js";
import { ServiceError } from "./service-error.js";

/** The range must have at least one byte. */
export function rangeHeader({ offset, length }: ByteRange): string {
  return `bytes=${offset}-${offset + length - 1}`;
}

/** Headers of a response. */
export interface Stated {
  readonly length?: number | undefined;
  /** Content-Range. Without it, the body is the whole object, which a server may always send. */
  readonly range?: string | undefined;
}

/**
 * Reads the requested part of an object into a new array, copying as it arrives. Ignores the bytes
 * that follow. Throws a ServiceError for another part, or one that ends early.
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
 * Reads a range of the bytes of a body. `stated` is the length of the body, if known. Throws a
 * ServiceError for a body that ends early.
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
    // Leaving a body before its end closes the connection.
    if (at > end) break;
  }
  if (stated !== undefined && at < Math.min(end, stated)) {
    throw new ServiceError({ reason: "a response that is too short" });
  }
  return bytes ?? joinBytes(parts);
}
