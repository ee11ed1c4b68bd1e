/**
 * Fingerprints of ids in a namespace: those of ids in none, exclusive or the id of the namespace. So two namespaces share no
 * fingerprint, and an item of one never shadows an item of another.
 */

/** `namespace`: its id, hexadecimal; undefined: none. */
export function fingerprintsIn(
  namespace: string | undefined,
  fingerprints: readonly Uint8Array[],
): readonly Uint8Array[] {
  if (namespace === undefined) return fingerprints;
  const mask = Buffer.from(namespace, "hex");
  return fingerprints.map((bytes) => bytes.map((byte, i) => byte ^ mask[i]));
}
