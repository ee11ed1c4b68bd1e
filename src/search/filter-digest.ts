/** Filters by digest: as keys in caches, texts could take as much memory as what is cached. */

import { createHash } from "node:crypto";
import type { CompiledFilter } from "../filter.js";

const digests = new WeakMap<CompiledFilter, string>();

/** Shorter texts are digests of their own: no digest begins as a text does. */
const textMax = 64;

/** SHA-256 of a filter's text, unless that is short; computed once per compiled filter. */
export function filterDigest(filter: CompiledFilter): string {
  if (filter.text.length <= textMax) return filter.text;
  const known = digests.get(filter);
  if (known !== undefined) return known;
  const digest = createHash("sha256").update(filter.text).digest("base64");
  digests.set(filter, digest);
  return digest;
}
