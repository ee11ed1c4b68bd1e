/** Derives the service's keys from the root key. */

import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";

/** 32 bytes by HKDF-SHA-256. `label` names the purpose. */
export function deriveKey(rootKey: string, label: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync("sha256", rootKey, "", label, 32)));
}
