/** The scope of the queries of one call. */

import type { Trained } from "../engine/scan/choose-codec.js";
import type { Matches } from "./matches.js";
import type { Searcher } from "./searcher.js";
import type { Snapshot } from "./snapshot/snapshot.js";

export interface SearchScope {
  readonly searcher: Searcher;
  readonly snapshot: Snapshot;
  /** The snapshot's model, in kernel memory; undefined: untrained. */
  readonly trained: Trained | undefined;
  /** Undefined: every row matches. */
  readonly matches: Matches | undefined;
  /** See `CheckedQuery`. */
  readonly memoryOnly?: boolean;
}

/** That of a trained index. */
export type TrainedScope = SearchScope & { readonly trained: Trained };

export function isTrained(scope: SearchScope): scope is TrainedScope {
  return scope.trained !== undefined;
}
