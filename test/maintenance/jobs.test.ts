/** The time at which due jobs start, and the report of their failures. Time passes only when a test says so. */

import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { emptyManifest, type Manifest } from "../../src/state/commit/manifest.js";
import { JobRunner } from "../../src/index/open/job-runner.js";
import { type Job, Maintenance, pauseMs, pauseMsMax } from "../../src/index/open/maintenance.js";
import { SealdexError } from "../../src/errors.js";
import { StandingClock } from "../protocol/standing-clock.js";

type Run = (signal: AbortSignal) => Promise<void>;

const idle = async () => {};

function begun() {
  const clock = new StandingClock();
  const runner = new JobRunner(clock);
  const events: string[] = [];
  const due = new Set<string>();
  const jobOf = (of: string, name: Job["name"], isHeavy: boolean, run: Run = idle): Job => ({
    name,
    isHeavy,
    isDue: () => due.has(`${of} ${name}`),
    async run(signal) {
      events.push(`${of} ${name}`);
      due.delete(`${of} ${name}`);
      await run(signal);
    },
  });
  const open = (jobs: readonly Job[]) => new Maintenance(clock, runner, () => jobs);
  return { clock, runner, events, due, jobOf, open };
}

test("a light job starts after the write that made it due, heavy ones at the next pause, in order, one at a time", async () => {
  const { clock, runner, events, due, jobOf, open } = begun();
  let finish = () => {};
  const held = () => new Promise<void>((resolve) => (finish = resolve));
  const [one, other] = [
    open([
      jobOf("one", "training", true, held),
      jobOf("one", "merge", true),
      jobOf("one", "garbage collection", false),
    ]),
    open([jobOf("other", "merge", true)]),
  ];
  for (const name of ["one merge", "one training", "one garbage collection", "other merge"]) due.add(name);
  await one.duringWrite(async () => expect(events).toEqual([]));
  expect(events).toEqual(["one garbage collection"]);
  await other.duringWrite(idle);
  clock.advance(pauseMs - 1);
  await turn();
  expect(events).toHaveLength(1);
  clock.advance(1);
  await turn();
  expect(events.slice(1)).toEqual(["one training"]);
  // The training left nothing to merge.
  due.delete("one merge");
  finish();
  await turn();
  expect(events.slice(1)).toEqual(["one training", "other merge"]);
  await runner.close();
});

test("a write that fails starts nothing, and a job that runs is not started twice", async () => {
  const { clock, events, due, jobOf, open } = begun();
  const maintenance = open([
    jobOf("an", "merge", true, () => new Promise(() => {})),
    jobOf("a", "garbage collection", false),
  ]);
  due.add("an merge").add("a garbage collection");
  await expect(maintenance.duringWrite(() => Promise.reject(new Error("full")))).rejects.toThrow("full");
  expect([events, clock.timers]).toEqual([[], 0]);
  for (let i = 0; i < 3; i++) {
    due.add("an merge");
    await maintenance.duringWrite(idle);
    clock.advance(pauseMsMax);
    await turn();
  }
  expect(events).toEqual(["a garbage collection", "an merge"]);
});

test("a failure is told until the job succeeds, or a caller has done it; that of a deleted index is none", async () => {
  const { runner, due, jobOf, open } = begun();
  const failures = [new Error("no room"), "a text", new SealdexError("not_found", "deleted"), undefined];
  let next: unknown;
  const maintenance = open([
    jobOf("a", "garbage collection", false, async () => {
      if (next !== undefined) throw next;
    }),
  ]);
  const told: unknown[] = [];
  for (next of failures) {
    due.add("a garbage collection");
    await maintenance.duringWrite(idle);
    await turn();
    told.push(maintenance.failure("garbage collection"));
  }
  expect(told).toEqual(["no room", "a text", "a text", undefined]);
  next = new Error("again");
  due.add("a garbage collection");
  maintenance.afterWrite();
  await turn();
  expect(maintenance.failure("garbage collection")).toBe("again");
  maintenance.forgetFailure("garbage collection");
  expect(maintenance.failure("garbage collection")).toBeUndefined();
  await runner.close();
});

test("closing ends what runs, without a failure, and starts nothing of what waits", async () => {
  const { clock, runner, events, due, jobOf, open } = begun();
  const untilAborted = (signal: AbortSignal) =>
    new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const [one, other, waiting] = [
    open([jobOf("one", "merge", true, untilAborted)]),
    open([jobOf("other", "merge", true)]),
    open([jobOf("waiting", "merge", true)]),
  ];
  due.add("one merge").add("other merge").add("waiting merge");
  await one.duringWrite(idle);
  await other.duringWrite(idle);
  clock.advance(pauseMs);
  await turn();
  await waiting.duringWrite(idle);
  await runner.close();
  expect(clock.timers).toBe(0);
  await waiting.duringWrite(idle);
  expect(clock.timers).toBe(0);
  expect(events).toEqual(["one merge"]);
  expect(one.failure("merge")).toBeUndefined();
});

test("history is due once a commit has advanced its watermark, until a collection begins", () => {
  const maintenance = begun().open([]);
  const before = emptyManifest(0);
  const after: Manifest = { ...before, history: { ...before.history, floor: 2 } };
  maintenance.noteCommit(before, before);
  expect(maintenance.isHistoryDue).toBe(false);
  maintenance.noteCommit(before, after);
  maintenance.noteCommit(after, after);
  expect(maintenance.isHistoryDue).toBe(true);
  maintenance.noteCollection();
  expect(maintenance.isHistoryDue).toBe(false);
});
