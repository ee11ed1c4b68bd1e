/** Lets other work of the process run between pieces of long work. */

import { AsyncLocalStorage } from "node:async_hooks";
import { performance, timers } from "../real-timers.js";

/** On whose behalf work is done; undefined: of nobody in particular. */
const owners = new AsyncLocalStorage<string>();
/** Callers that wait, by owner. One continues per turn of the event loop: many at once hold it no longer than one does. */
const waiting = new Map<string | undefined, (() => void)[]>();

/** Runs `work`, and all that it starts, on behalf of `owner`: owners take turns, however much each of them has to do. */
export function onBehalfOf<T>(owner: string, work: () => T): T {
  return owners.run(owner, work);
}

/** Lets other work of the process run. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    const owner = owners.getStore();
    const own = waiting.get(owner);
    if (own !== undefined) own.push(resolve);
    else if (waiting.set(owner, [resolve]).size === 1) timers.setImmediate(next);
  });
}

function next(): void {
  yieldedAt = performance.now();
  // The owner whose turn was the longest ago is the first of the map.
  for (const [owner, own] of waiting) {
    const resume = own.shift();
    waiting.delete(owner);
    if (own.length > 0) waiting.set(owner, own);
    resume?.();
    break;
  }
  if (waiting.size > 0) timers.setImmediate(next);
}

/** How long work may hold the event loop. */
const sliceMs = 8;
/** When anything yielded last: loops that begin one after another share a turn. */
let yieldedAt = 0;

/** Whether nothing has yielded for longer than a slice. */
export function isPauseDue(): boolean {
  return performance.now() - yieldedAt >= sliceMs;
}

/** Yields if nothing has yielded for longer than a slice. */
export async function yieldIfDue(): Promise<void> {
  if (isPauseDue()) await yieldToEventLoop();
}

/**
 * Calls `visit` with 0 to n - 1, letting other work run in between. `together`: visits that take less than a millisecond or
 * two, after which it is time to look at the clock.
 */
export async function forEachYielding(n: number, visit: (i: number) => void, together = 64): Promise<void> {
  for (let i = 0; i < n; i++) {
    if (i % together === together - 1 && isPauseDue()) await yieldToEventLoop();
    visit(i);
  }
}

/** How long calls that wait for nothing may hold one turn: less, since whoever reads or writes meanwhile needs many turns. */
const turnMs = 2;
/** When this turn of the event loop was first asked about; undefined: not yet. */
let turnBeganAt: number | undefined;

/**
 * Whether calls that wait for nothing have held this turn of the event loop for long: a caller that awaits one after another gets each
 * answer in the same turn, and timers and other requests would never run.
 */
export function isTurnOver(): boolean {
  if (turnBeganAt !== undefined) return performance.now() - turnBeganAt >= turnMs;
  turnBeganAt = performance.now();
  timers.setImmediate(endTurn);
  return false;
}

/** Resolves in the next turn, for any number of such calls at once: together they hold it for as long as one may. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => timers.setImmediate(resolve));
}

function endTurn(): void {
  turnBeganAt = undefined;
}

/** The time slice of one piece of work, from its construction. Work that rarely takes a whole slice never has to await it. */
export class TimeSlice {
  #startedAt = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#startedAt >= sliceMs;
  }

  /** Begins a new slice, after the work has yielded. */
  restart(): void {
    this.#startedAt = performance.now();
  }
}
