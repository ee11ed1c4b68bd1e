/** What the service authenticates is under keys of their own, each derived from the root key. */

import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";

/** A key of 32 bytes by HKDF-SHA-256. `label`: what it is for. */
export function deriveKey(rootKey: string, label: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync("sha256", rootKey, "", label, 32)));
}
