/** Group commit: changes of one process that wait at the same time become one manifest. */

import type { Manifest } from "./manifest.js";
import { own } from "../value-kinds.js";

/** Applies a change to the latest manifest; the log adds the rest. Null: nothing to do after all. */
export type Change = (latest: Manifest) => Omit<Manifest, "version" | "previous"> | null;

/** A change that waits to be committed. */
export interface Pending {
  readonly change: Change;
  /** The holder of its reservation. */
  readonly holder?: string | undefined;
  resolve(committed: Manifest | null): void;
  reject(reason: unknown): void;
}

export interface CommitGroup {
  /** The latest manifest with all changes of the group applied. */
  readonly draft: Manifest;
  /** Changes in the draft: they settle when it is stored. */
  readonly members: readonly Pending[];
  /** Changes that declined or threw after others of the group: they are retried on the group's result. */
  readonly deferred: readonly Pending[];
}

/**
 * Applies changes to a manifest, one after the other: first the one that reserved this commit. A change that declines, or throws,
 * settles only if what it saw is stored: the other changes of the group may yet fail.
 */
export function applyChanges(latest: Manifest, waiting: readonly Pending[]): CommitGroup {
  const { reservation, ...rest } = latest;
  const isPromised = ({ holder }: Pending) => reservation !== undefined && holder === reservation.holder;
  const ordered = [...waiting.filter(isPromised), ...waiting.filter((pending) => !isPromised(pending))];
  let draft: Manifest = own({ ...rest, droppedObjects: [] });
  const members: Pending[] = [];
  const deferred: Pending[] = [];
  for (const pending of ordered) {
    let changed: ReturnType<Change>;
    try {
      changed = pending.change(draft);
    } catch (error) {
      if (members.length > 0) deferred.push(pending);
      else pending.reject(error);
      continue;
    }
    if (changed !== null) {
      draft = own({ ...changed, version: latest.version, previous: latest.previous });
      members.push(pending);
    } else if (members.length > 0) deferred.push(pending);
    else pending.resolve(null);
  }
  return { draft, members, deferred };
}
