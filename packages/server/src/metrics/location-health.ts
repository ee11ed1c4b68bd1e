/** Whether the storage locations respond. */

import { type BlobStore, SealdexError } from "sealdex/core";
import { sharedFor } from "../http/shared-for.js";

/** How often a location is asked at most, however many ask about it. */
const checkMs = 1000;
/** How long a location may take to respond. */
const responseMsMax = 5000;

export interface Location {
  /** `index`, `config` or `anchor`. */
  readonly name: string;
  /** What it is, such as `redis`; never its address, which may hold a password. */
  readonly kind: string;
  readonly store: BlobStore;
}

export interface LocationHealth {
  readonly name: string;
  readonly kind: string;
  /** How long it took to respond, or to fail. */
  readonly ms: number;
  /** Why it does not respond. Absent if it does. */
  readonly code?: string;
}

/** Asks all locations, at the same time. Never rejects. */
export function healthOf(locations: readonly Location[]): () => Promise<LocationHealth[]> {
  return sharedFor(checkMs, () => Promise.all(locations.map(check)));
}

async function check({ name, kind, store }: Location): Promise<LocationHealth> {
  const startedAt = performance.now();
  const elapsed = () => Math.round(1000 * (performance.now() - startedAt)) / 1000;
  try {
    // Nothing has this name: whether the storage answers is all that is asked.
    await store.read("ready", { offset: 0, length: 0 }, { signal: AbortSignal.timeout(responseMsMax) });
    return { name, kind, ms: elapsed() };
  } catch (error) {
    const code = error instanceof SealdexError ? error.code : "storage_unavailable";
    return { name, kind, ms: elapsed(), code };
  }
}
