/**
 * Retention watermarks: the manifests themselves keep time, so that old manifests, and objects that no writer will commit any
 * more, are known by their numbers. Every commit carries the watermarks on; once a grace period has passed, `next` becomes
 * the floor and the commit's own version the new `next`. So an object below a floor is at least one grace period old, and
 * an object older than two is below it, as long as commits happen.
 */

import { type Check, integer, Misfit, real, record, timeMax } from "../../checks/stored-json.js";

export interface Watermark {
  readonly floor: number;
  /** The version that becomes the floor. */
  readonly next: number;
  /** When `next` was committed: milliseconds since 1970 by the committing process's clock. */
  readonly since: number;
}

/**
 * How long manifests stay readable one by one, and with them the objects they name. A reader or writer that paused for a
 * quarter of it trusts nothing it remembers before it has read again; the rest allows for clocks that differ.
 */
export const historyMs = 15 * 60 * 1000;

/** How long an object may be stored and not yet committed, before its writer must store it again: training may take hours. */
export const uploadMs = 24 * 60 * 60 * 1000;

/** Watermarks in the manifest of this version. One that lies ahead would make every writer store its objects again, for ever. */
export function watermarkOf(version: number): Check<Watermark> {
  const check = record<Watermark>({
    floor: integer(1, version),
    next: integer(1, version),
    since: real(0, timeMax),
  });
  return (value) => {
    const watermark = check(value);
    if (watermark.next < watermark.floor) throw new Misfit(`${watermark.floor} or more`, ".next");
    return watermark;
  };
}

export function firstWatermark(now: number): Watermark {
  return { floor: 1, next: 1, since: now };
}

/**
 * The watermark of `version`, given that of the version before it. A time ahead of this clock becomes `now`: otherwise a clock that
 * was wrong once would keep all garbage for good.
 */
export function advanceWatermark(
  before: Watermark,
  version: number,
  now: number,
  graceMs: number,
): Watermark {
  if (isDue(before, now, graceMs)) return { floor: before.next, next: version, since: now };
  return before.since > now ? { ...before, since: now } : before;
}

export function isDue({ since }: Watermark, now: number, graceMs: number): boolean {
  return now - Math.min(since, now) >= graceMs;
}
