/**
 * Whether readers of an index to which batches are only added saw it grow as one: every read saw whole batches, all that were
 * acknowledged before it, none that was not begun, and of any two reads one saw all that the other did. With that, some
 * order of all calls explains every read, so this is linearizability for such a history.
 */

import { expect } from "vitest";

export interface AddedBatch {
  readonly ids: readonly string[];
  readonly began: number;
  /** Infinity where it was not acknowledged: it may be there, whole, or not. */
  readonly ended: number;
}

export interface Read {
  readonly began: number;
  readonly ended: number;
  /** Every id there was. */
  readonly ids: readonly string[];
}

export function expectPrefixes(batches: readonly AddedBatch[], reads: readonly Read[]): void {
  const known = new Set(batches.flatMap(({ ids }) => ids));
  const cuts = reads.map(({ began, ended, ids }) => {
    const seen = new Set(ids);
    expect(seen.size, "items seen twice").toBe(ids.length);
    expect(
      ids.filter((id) => !known.has(id)),
      "items that no call added",
    ).toEqual([]);
    const there = batches.filter((batch) => batch.ids.some((id) => seen.has(id)));
    expect(
      there.filter((batch) => !batch.ids.every((id) => seen.has(id))),
      "half batches",
    ).toEqual([]);
    expect(
      there.filter((batch) => batch.began > ended),
      "batches of the future",
    ).toEqual([]);
    // A read must have seen calls that ended before it began, or before a call began that it saw.
    const since = Math.max(began, ...there.map((batch) => batch.began));
    const missed = batches.filter((batch) => batch.ended < since && !batch.ids.every((id) => seen.has(id)));
    expect(missed, "acknowledged batches that a read did not see").toEqual([]);
    return { began, ended, seen };
  });
  cuts.sort((a, b) => a.seen.size - b.seen.size || a.began - b.began);
  for (let i = 1; i < cuts.length; i++) {
    const [fewer, more] = [cuts[i - 1], cuts[i]];
    expect(
      [...fewer.seen].filter((id) => !more.seen.has(id)),
      "two reads saw two histories",
    ).toEqual([]);
    if (fewer.seen.size < more.seen.size)
      expect(more.ended, "time ran backwards").toBeGreaterThan(fewer.began);
  }
}
