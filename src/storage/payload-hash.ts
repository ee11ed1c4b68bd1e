/** The hash of a request's body, which object services require in signatures. */

import { createHash } from "node:crypto";
import { nextTurn } from "../async/event-loop.js";

/** Hashed in a few milliseconds. */
const pieceBytes = 2 * 1024 * 1024;

/** SHA-256 in hexadecimal. Yields to the event loop between pieces of a large body. */
export async function payloadHash(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (at > 0) await nextTurn();
    hash.update(bytes.subarray(at, at + pieceBytes));
  }
  return hash.digest("hex");
}
