/**
 * JSON bodies: UTF-8, nested at most 32 deep, every key kept as it is. Metadata is stored verbatim, so keys such as
 * `__proto__` are neither refused nor dropped; `JSON.parse` makes them properties like any other, and whoever copies a
 * body must do so by spread, never by assignment.
 */

import { isUtf8 } from "node:buffer";
import { SealdexError } from "sealdex/core";

const depthMax = 32;

/** Throws `invalid_request`; the message repeats nothing of the body. */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid("expected UTF-8");
  if (isDeeper(bytes, depthMax)) throw invalid(`expected JSON nested at most ${depthMax} deep`);
  try {
    return JSON.parse(bytes.toString("utf8")) as unknown;
  } catch {
    throw invalid(bytes.length === 0 ? "expected JSON, got nothing" : "expected JSON, got something else");
  }
}

/** Counted before parsing, which takes seconds and gigabytes for millions of brackets. */
function isDeeper(bytes: Buffer, depthLimit: number): boolean {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === 0x22) {
      // A string: to its closing quote, past escaped ones.
      for (i++; i < bytes.length && bytes[i] !== 0x22; i++) if (bytes[i] === 0x5c) i++;
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > depthLimit) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return false;
}

function invalid(message: string): SealdexError {
  return new SealdexError("invalid_request", `body: ${message}`);
}
