/**
 * Fences: how the manifests themselves keep time, so that old ones, and objects that nobody will commit any more, can be
 * told from new ones by their numbers. Every commit carries them on; once a grace period has passed, `next` becomes
 * the floor and the commit's own version the next `next`. So what is below a floor is at least one grace period old,
 * and what is older than two is below it, as long as somebody commits.
 */

export interface Watermark {
  readonly floor: number;
  /** The version that becomes the floor. */
  readonly next: number;
  /** When `next` was committed: milliseconds since 1970 by the committing process's clock. */
  readonly since: number;
}

/**
 * How long manifests stay readable one by one, and with them the objects they name. A reader or writer that was away for a
 * quarter of it trusts nothing it remembers before it has looked again; the rest is for clocks that differ.
 */
export const historyMs = 15 * 60 * 1000;

/** How long an object may be stored and not yet committed, before its writer must store it again: training may take hours. */
export const uploadMs = 24 * 60 * 60 * 1000;

export function firstWatermark(now: number): Watermark {
  return { floor: 1, next: 1, since: now };
}

/** The fence that `version` carries, after the one that the version before it carried. */
export function advanceWatermark(fence: Watermark, version: number, now: number, graceMs: number): Watermark {
  return isDue(fence, now, graceMs) ? { floor: fence.next, next: version, since: now } : fence;
}

export function isDue(fence: Watermark, now: number, graceMs: number): boolean {
  return now - fence.since >= graceMs;
}
