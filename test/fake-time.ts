/** Vitest's fake timers, for the library as well: by itself it keeps to those that were there when it was loaded. */

import { vi } from "vitest";
import { performance, timers } from "../src/async/timers.js";

const real = { ...timers };
const realNow = performance.now;

export function useFakeTime(toFake: readonly ("setTimeout" | "clearTimeout" | "performance")[]): void {
  vi.useFakeTimers({ toFake: [...toFake] });
  for (const name of toFake) {
    if (name === "performance") performance.now = () => globalThis.performance.now();
    else Object.assign(timers, { [name]: globalThis[name] });
  }
}

export function useRealTime(): void {
  performance.now = realNow;
  Object.assign(timers, real);
  vi.useRealTimers();
}
