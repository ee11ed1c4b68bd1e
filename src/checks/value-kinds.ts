/**
 * Type checks across realms: in a vm context, as Jest and Vitest use for tests, a `Date` of the
 * test or an error of Node.js is no instance of the class of that name here. Uses no Node.js
 * modules.
 */

/** Includes Buffers. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && tagOf(value) === "Uint8Array";
}

export function isClampedBytes(value: unknown): value is Uint8ClampedArray {
  return ArrayBuffer.isView(value) && tagOf(value) === "Uint8ClampedArray";
}

export function isFloat32Array(value: unknown): value is Float32Array {
  return ArrayBuffer.isView(value) && tagOf(value) === "Float32Array";
}

export function isDate(value: unknown): value is Date {
  try {
    Date.prototype.getTime.call(value);
    return true;
  } catch {
    return false;
  }
}

export function isMapOrSet(value: unknown): boolean {
  return ["Map", "Set"].includes(tagOf(value));
}

/** The type of the error's code is unknown. */
export function isError(value: unknown): value is Error & { readonly code?: unknown } {
  return isObject(value) && typeof value.message === "string" && typeof value.name === "string";
}

export function isAbortSignal(value: unknown): value is AbortSignal {
  if (!isObject(value) || typeof value.aborted !== "boolean") return false;
  return typeof value.addEventListener === "function" && typeof value.throwIfAborted === "function";
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return isObject(value) && typeof value.then === "function";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/** A copy with the object's own members and no others: where it has none, a polluted `Object.prototype` has none for it. */
export function own<T extends object>(members: T): T {
  return Object.assign(Object.create(null) as T, members);
}

/** Options of which none is given. */
export const none: object = Object.freeze(own({}));
