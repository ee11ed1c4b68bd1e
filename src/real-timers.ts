/**
 * The timers and the steady clock of the process as they are when this module is loaded. Tests replace those that are global by fake
 * ones, which stand still: work that waited for one would never end, and with it all later work that waits for the same turn.
 * `Date` is asked each time, so that a test can let items expire. Without Node.js, they are the browser's.
 */

// Not the global ones if there is a choice: a test runner may have replaced those before it loads anything.
const runtime = globalThis.process?.getBuiltinModule?.("node:process") ?? globalThis.process;
const { setTimeout, clearTimeout, setImmediate } = runtime?.getBuiltinModule?.("node:timers") ?? globalThis;

/** `setImmediate` and `nextTick` are undefined without Node.js. */
export const timers = {
  // Bound: those of a browser refuse to be methods of another object.
  setTimeout: setTimeout.bind(globalThis),
  clearTimeout: clearTimeout.bind(globalThis),
  setImmediate: setImmediate?.bind(globalThis),
  nextTick: runtime?.nextTick,
};

export const performance = { now: globalThis.performance.now.bind(globalThis.performance) };
