/** Checks whether the storage locations respond. */

import { type BlobStore, SealdexError } from "sealdex/core";
import { sharedFor } from "../http/shared-for.js";

/** Shortest interval between two checks of a location. */
const checkMs = 1000;
/** Time limit of a location's response. */
const responseMsMax = 5000;

export interface Location {
  /** `index`, `config` or `anchor`. */
  readonly name: string;
  /** The kind of location, for example `redis`; never its address, which may contain a password. */
  readonly kind: string;
  readonly store: BlobStore;
}

export interface LocationHealth {
  readonly name: string;
  readonly kind: string;
  /** Milliseconds until it responded or failed. */
  readonly ms: number;
  /** The error code; absent if it responds. */
  readonly code?: string;
}

/** Checks all locations at once. Never rejects. */
export function healthOf(locations: readonly Location[]): () => Promise<LocationHealth[]> {
  return sharedFor(checkMs, () => Promise.all(locations.map(check)));
}

async function check({ name, kind, store }: Location): Promise<LocationHealth> {
  const startedAt = performance.now();
  const elapsed = () => Math.round(1000 * (performance.now() - startedAt)) / 1000;
  try {
    // No blob has this name: the read only checks that storage responds.
    await store.read("ready", { offset: 0, length: 0 }, { signal: AbortSignal.timeout(responseMsMax) });
    return { name, kind, ms: elapsed() };
  } catch (error) {
    const code = error instanceof SealdexError ? error.code : "storage_unavailable";
    return { name, kind, ms: elapsed(), code };
  }
}
