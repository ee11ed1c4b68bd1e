/** Tasks: run as far as they wait for nothing, continued from there, or abandoned. */

import { afterEach, expect, test } from "vitest";
import { run, start, type Task, waitFor } from "../../src/engine/threads/run.js";

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
afterEach(() => process.off("unhandledRejection", note));

function* waiting<T>(promise: Promise<T>, release?: (value: T) => void): Task<T> {
  return yield* waitFor(promise, release);
}

test("a task that waits for nothing has its result at once", () => {
  function* sum(waits: boolean): Task<number> {
    if (waits) yield;
    return 1 + 2;
  }
  expect(start(sum(false))).toBe(3);
});

/** A task that waits, abandoned there. */
function abandon(task: Task<unknown>): void {
  expect(task.next().done).toBe(false);
  task.return(undefined);
}

test("a task continues with the value of a promise, or with its rejection", async () => {
  expect(await run(waiting(Promise.resolve(7)))).toBe(7);
  await expect(run(waiting(Promise.reject(new Error("gone"))))).rejects.toThrow("gone");
});

test("a rejection that an abandoned task would have waited for is not unhandled", async () => {
  process.on("unhandledRejection", note);
  abandon(waiting(Promise.reject(new Error("gone"))));
  abandon(waiting(Promise.reject(new Error("gone")), () => undefined));
  await new Promise((resolve) => setTimeout(resolve));
  expect(unhandled).toEqual([]);
});

test("a value that arrives after its task was abandoned is released", async () => {
  const released: number[] = [];
  abandon(waiting(Promise.resolve(7), (value) => released.push(value)));
  await new Promise((resolve) => setTimeout(resolve));
  expect(released).toEqual([7]);
});
