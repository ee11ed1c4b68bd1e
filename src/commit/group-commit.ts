/** Group commit: changes of one process that wait at the same time become one manifest. */

import type { Manifest } from "./manifest.js";

/** What a change makes of the newest manifest; the log adds the rest. Null: nothing to do after all. */
export type Change = (latest: Manifest) => Omit<Manifest, "version" | "previous"> | null;

/** A change, and whoever waits for it. */
export interface Pending {
  readonly change: Change;
  resolve(committed: Manifest | null): void;
  reject(reason: unknown): void;
}

export interface CommitGroup {
  /** The newest manifest with all changes of the group made to it; its own where none was. */
  readonly draft: Manifest;
  /** Whose changes are in the draft: they are to be answered when it is stored. */
  readonly members: readonly Pending[];
  /** Whose changes did not go with those before them: they are to be tried on what the group leaves. */
  readonly deferred: readonly Pending[];
}

/**
 * Makes changes to a manifest, one after the other. A change that declines, or throws, is answered only where what it
 * saw is stored: what others of the group are about to do may yet fail.
 */
export function applyChanges(latest: Manifest, waiting: readonly Pending[]): CommitGroup {
  let draft: Manifest = { ...latest, garbage: [] };
  const members: Pending[] = [];
  const deferred: Pending[] = [];
  for (const pending of waiting) {
    let changed: ReturnType<Change>;
    try {
      changed = pending.change(draft);
    } catch (error) {
      if (members.length > 0) deferred.push(pending);
      else pending.reject(error);
      continue;
    }
    if (changed !== null) {
      draft = { ...changed, version: latest.version, previous: latest.previous };
      members.push(pending);
    } else if (members.length > 0) deferred.push(pending);
    else pending.resolve(null);
  }
  return { draft, members, deferred };
}
