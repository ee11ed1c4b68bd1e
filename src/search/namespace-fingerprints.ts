/**
 * Fingerprints of ids in a namespace: those of ids in none, exclusive or the handle of the namespace. So two namespaces share no
 * fingerprint, and an item of one never shadows an item of another.
 */

import { handleOf } from "../commit/namespaces.js";

/** `namespace`: its id; undefined: none. */
export function fingerprintsIn(
  namespace: string | undefined,
  fingerprints: readonly Uint8Array[],
): readonly Uint8Array[] {
  if (namespace === undefined) return fingerprints;
  const mask = Buffer.from(handleOf(namespace), "hex");
  return fingerprints.map((bytes) => bytes.map((byte, i) => byte ^ mask[i]));
}
