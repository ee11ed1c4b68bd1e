/**
 * The contract of blob-store.ts as a test suite, for the drivers here and for anybody's own. It needs a test
 * runner's `test` function and nothing else; docs/storage-drivers.md shows how to run it.
 */

import type { BlobStore } from "./blob-store.js";
import { cases, type ConformanceLocation } from "./conformance-cases.js";

export type { ConformanceLocation } from "./conformance-cases.js";

export interface ConformanceOptions {
  /** Registers a case with the test runner. Allow the longest a minute where the location is slow. */
  readonly test: (name: string, run: () => Promise<void>) => unknown;
  /** Makes a location for one case: fresh, empty, shared with no other case. */
  readonly factory: () => Promise<ConformanceLocation>;
}

/** Registers every case. A case rejects with an AssertionError where the driver breaks the contract. */
export function storageConformance({ test, factory }: ConformanceOptions): void {
  for (const [name, run] of Object.entries(cases)) {
    test(name, async () => {
      const location = await factory();
      const handles = new Set<BlobStore>();
      const open = async () => {
        const store = await location.open();
        handles.add(store);
        return store;
      };
      try {
        await run(open, location);
      } finally {
        await Promise.all([...handles].map((store) => store.close()));
        await location.destroy?.();
      }
    });
  }
}
