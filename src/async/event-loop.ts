/** Yields to the event loop between pieces of long work. */

import { AsyncLocalStorage } from "node:async_hooks";
import { performance, timers } from "./timers.js";

/** The owner of the current work; undefined if there is none. */
const owners = new AsyncLocalStorage<string>();
/**
 * Waiting callers by owner. One continues per turn of the event loop: many hold it no longer than
 * one.
 */
const waiting = new Map<string | undefined, (() => void)[]>();

/**
 * Runs `work`, and all that it starts, for `owner`. Owners take turns, however much work each has.
 */
export function onBehalfOf<T>(owner: string, work: () => T): T {
  return owners.run(owner, work);
}

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
  // The map's first owner has waited longest.
  for (const [owner, own] of waiting) {
    const resume = own.shift();
    waiting.delete(owner);
    if (own.length > 0) waiting.set(owner, own);
    resume?.();
    break;
  }
  if (waiting.size > 0) timers.setImmediate(next);
}

/** Longest time in milliseconds that work may hold the event loop. */
const sliceMs = 8;
/** Time of the last yield, shared by all loops. */
let yieldedAt = 0;

/** Whether nothing has yielded for longer than a slice. */
export function isPauseDue(): boolean {
  return performance.now() - yieldedAt >= sliceMs;
}

/** Yields if the last yield was longer ago than a slice. */
export async function yieldIfDue(): Promise<void> {
  if (isPauseDue()) await yieldToEventLoop();
}

/**
 * Calls `visit` with 0 to n - 1, yielding in between. `together`: visits between two checks of the
 * clock, which should take less than a millisecond or two.
 */
export async function forEachYielding(n: number, visit: (i: number) => void, together = 64): Promise<void> {
  for (let i = 0; i < n; i++) {
    if (i % together === together - 1 && isPauseDue()) await yieldToEventLoop();
    visit(i);
  }
}

/**
 * Shorter than a slice for calls that never wait, since concurrent reads and writes need many
 * turns.
 */
const turnMs = 2;
/** Start of this turn of the event loop; undefined until the first check. */
let turnBeganAt: number | undefined;

/**
 * Whether calls without waits have held this turn of the event loop for long. A caller that awaits
 * one after another gets each result in the same turn, so timers and other requests would never
 * run.
 */
export function isTurnOver(): boolean {
  if (turnBeganAt !== undefined) return performance.now() - turnBeganAt >= turnMs;
  turnBeganAt = performance.now();
  timers.setImmediate(endTurn);
  return false;
}

/**
 * Resolves in the next turn, for any number of calls at once: together they hold it as long as one
 * may.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => timers.setImmediate(resolve));
}

function endTurn(): void {
  turnBeganAt = undefined;
}

/**
 * The time slice of one piece of work, from its construction. Work that rarely takes a whole slice
 * need not await.
 */
export class TimeSlice {
  #startedAt = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#startedAt >= sliceMs;
  }

  /** Starts a new slice after the work has yielded. */
  restart(): void {
    this.#startedAt = performance.now();
  }
}

/** Values sorted, or merged, in one piece, which takes a few milliseconds. */
const sortedTogether = 4096;

/** Sorts values, and yields after each piece. `compare`: as that of `Array.sort`. */
export function* sortedInPieces<T>(
  values: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<void, T[], void> {
  let runs: T[][] = [];
  for (let start = 0; start < values.length; start += sortedTogether) {
    runs.push(values.slice(start, start + sortedTogether).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const longer: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      longer.push(i + 1 < runs.length ? yield* merge(runs[i], runs[i + 1], compare) : runs[i]);
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merge<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<void, T[], void> {
  const merged: T[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    merged.push(j === b.length || (i < a.length && compare(a[i], b[j]) < 0) ? a[i++] : b[j++]);
    if (merged.length % sortedTogether === 0) yield;
  }
  return merged;
}

/** Sorts strings by UTF-16 units, yielding to the event loop between pieces. */
export async function sortYielding(strings: readonly string[]): Promise<string[]> {
  const sorting = sortedInPieces(strings, (a, b) => (a < b ? -1 : a > b ? 1 : 0));
  for (;;) {
    const { done, value } = sorting.next();
    if (done) return value;
    await yieldIfDue();
  }
}

/** Copied in a few milliseconds, even into memory that is touched for the first time. */
const pieceBytes = 2 ** 20;

/** Copies the parts into one new array. Yields to the event loop between pieces of large ones. */
export async function joinBytes(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const { buffer } = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.length, 0));
  const bytes = new Uint8Array(buffer);
  let end = 0;
  for (const part of parts) {
    for (let start = 0; start < part.length; start += pieceBytes) {
      if (start > 0) await nextTurn();
      const piece = part.subarray(start, start + pieceBytes);
      bytes.set(piece, end);
      end += piece.length;
    }
  }
  return bytes;
}
