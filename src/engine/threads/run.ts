/** Drives `Work` and tasks: their kernel calls on the threads, and other work of the process between their pieces. */

import { callKernel, type KernelCall } from "../kernels/kernels.js";
import type { Work } from "../work.js";
import { kernelThreads, messageCost } from "./kernel-threads.js";
import { TimeSlice, yieldToEventLoop } from "../../async/event-loop.js";

/** The requirement of a task before it continues: kernel calls, a promise that settles, or a pause. */
type Needed = readonly KernelCall[] | Promise<unknown> | void;

/** `Work` that may also wait: a promise that it yields is awaited, and if that rejects, the yield throws. */
export type Task<T> = Generator<Needed, T, void>;

/** The result of a task: at once if it waits for nothing; otherwise a promise, for which the task continues where it stopped. */
export function start<T>(task: Task<T>, signal?: AbortSignal): Promise<T> | T {
  signal?.throwIfAborted();
  const step = task.next();
  return step.done ? step.value : finish(task, step.value, signal);
}

/** The same, always as a promise. */
export async function run<T>(task: Task<T>, signal?: AbortSignal): Promise<T> {
  return start(task, signal);
}

/** The result of work, at once: its kernel calls are made on this thread. */
export function runHere<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    for (const call of step.value ?? []) callKernel(call);
  }
}

/** Waits for a promise. If the task is abandoned meanwhile, `release` takes the value. */
export function* waitFor<T>(promise: Promise<T>, release?: (value: T) => void): Task<T> {
  const values: T[] = [];
  let isAbandoned = true;
  const settled = promise.then((value) => void values.push(value));
  // An abandoned task awaits it no longer: then its rejection must not count as unhandled.
  settled.catch(() => undefined);
  try {
    yield settled;
    isAbandoned = false;
  } finally {
    if (isAbandoned && release !== undefined) promise.then(release, () => undefined);
  }
  return values[0];
}

async function finish<T>(task: Task<T>, first: Needed, signal: AbortSignal | undefined): Promise<T> {
  const slice = new TimeSlice();
  try {
    for (let needed = first; ;) {
      let failure: { readonly error: unknown } | undefined;
      try {
        if (!isSmall(needed)) {
          await (isPromise(needed) ? needed : provide(needed));
          slice.restart();
        } else {
          for (const call of needed) callKernel(call);
          if (slice.isOver) {
            await yieldToEventLoop();
            slice.restart();
          }
        }
      } catch (error) {
        failure = { error };
      }
      signal?.throwIfAborted();
      const step = failure === undefined ? task.next() : task.throw(failure.error);
      if (step.done) return step.value;
      needed = step.value;
    }
  } finally {
    // An abandoned task frees its memory; for one that is done this has no effect.
    task.return(undefined as T);
  }
}

function provide(needed: readonly KernelCall[] | void): Promise<void> {
  return needed !== undefined && needed.length > 0 ? kernelThreads().run(needed) : yieldToEventLoop();
}

function isPromise(needed: Needed): needed is Promise<unknown> {
  return needed !== undefined && "then" in needed;
}

/** Whether it is a few calls that take no time. */
function isSmall(needed: Needed): needed is readonly KernelCall[] {
  if (needed === undefined || isPromise(needed) || needed.length === 0) return false;
  return needed.reduce((sum, { cost = Infinity }) => sum + cost, 0) <= messageCost;
}
