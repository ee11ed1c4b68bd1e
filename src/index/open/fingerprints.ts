import { fingerprint } from "../../crypto/keys.js";
import { forEachYielding } from "../../async/event-loop.js";
import type { OpenIndex } from "./open-index.js";

/** The fingerprints of ids, in the order of the set. */
export async function fingerprintsOf(index: OpenIndex, ids: Iterable<string>): Promise<Uint8Array[]> {
  const distinct = [...ids];
  const fingerprints: Uint8Array[] = [];
  await forEachYielding(distinct.length, (i) => fingerprints.push(fingerprint(index.keys.id, distinct[i])));
  return fingerprints;
}
