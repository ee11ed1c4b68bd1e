/**
 * The contract of blob-store.ts as a test suite, for the drivers of this package and for others. It needs the `test` function
 * of a test runner and nothing else; docs/storage-drivers.md shows how to run it.
 *
 * @module sealdex/storage/conformance
 */

import type { BlobStore } from "./blob-store.js";
import { cases, type ConformanceLocation } from "./conformance-cases.js";
import { outageCases, type OutageServer } from "./outage-cases.js";

export type { ConformanceLocation } from "./conformance-cases.js";
export type { OutageServer } from "./outage-cases.js";

/** A test runner, and the driver that it tests. */
export interface ConformanceOptions {
  /** Registers a case with the test runner. Allow the longest case a minute if the location is slow. */
  readonly test: (name: string, run: () => Promise<void>) => unknown;
  /** Makes a location for one case: fresh, empty, shared with no other case. */
  readonly factory: () => Promise<ConformanceLocation>;
}

/** Registers every case. A case rejects with an AssertionError if the driver breaks the contract. */
export function storageConformance({ test, factory }: ConformanceOptions): void {
  for (const [name, run] of Object.entries(cases)) test(name, () => runCase(factory, run));
}

/** A test runner, the driver that it tests, and the server behind the driver. */
export interface OutageConformanceOptions extends ConformanceOptions {
  /** The server of every location that `factory` makes; nothing else may depend on it meanwhile. */
  readonly server: () => OutageServer;
}

/**
 * Registers cases in which the server is stopped, killed and delayed: for drivers that have one. Run them one
 * after the other. A store may take up to a minute to give up a call; open one that is less patient.
 */
export function outageConformance({ test, factory, server }: OutageConformanceOptions): void {
  for (const [name, run] of Object.entries(outageCases)) {
    test(name, () => runCase(factory, (open) => run(open, server())));
  }
}

async function runCase(
  factory: () => Promise<ConformanceLocation>,
  run: (open: () => Promise<BlobStore>, location: ConformanceLocation) => Promise<void>,
): Promise<void> {
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
}
