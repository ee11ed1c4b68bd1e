/**
 * The process's timers and steady clock, captured when this module is loaded. Tests may replace the
 * global ones by fake timers, which stand still and would block all later work. `Date` is read at
 * each call, so that tests can let items expire. Without Node.js, these are the browser's.
 */

// Avoids the globals if possible: a test runner may have replaced them already.
const runtime = globalThis.process?.getBuiltinModule?.("node:process") ?? globalThis.process;
const { setTimeout, clearTimeout, setImmediate } = runtime?.getBuiltinModule?.("node:timers") ?? globalThis;

/** `setImmediate` and `nextTick` are undefined without Node.js. */
export const timers = {
  // Bound, since a browser's timers refuse to be methods of another object.
  setTimeout: setTimeout.bind(globalThis),
  clearTimeout: clearTimeout.bind(globalThis),
  setImmediate: setImmediate?.bind(globalThis),
  nextTick: runtime?.nextTick,
};

export const performance = { now: globalThis.performance.now.bind(globalThis.performance) };
