/** The hash of a request's body, which object services want signed. */

import { createHash } from "node:crypto";
import { nextTurn } from "../threads/yield-to-event-loop.js";

/** As much as is hashed in a few milliseconds. */
const pieceBytes = 2 * 1024 * 1024;

/** SHA-256 in hexadecimal. Between pieces of a large body other work has its turn. */
export async function payloadHash(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (at > 0) await nextTurn();
    hash.update(bytes.subarray(at, at + pieceBytes));
  }
  return hash.digest("hex");
}
