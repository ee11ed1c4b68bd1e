/**
 * Checks the shape of stored JSON once, when it is opened. Authentic texts may be malformed:
 * whoever holds a key of an index can seal anything under it.
 */

import { SealdexError } from "../errors.js";

/** Returns the value, or throws `Misfit`. */
export type Check<T> = (value: unknown) => T;

export type Shape<T> = { readonly [K in keyof Required<T>]: Check<T[K]> };

/** Limit of all counts, so that sums of some counts are still safe integers. */
export const countMax = 2 ** 48;
/** The last time of a Date, in milliseconds since 1970. */
export const timeMax = 8.64e15;

/** A value with the wrong shape, in the member `path` of the text. */
export class Misfit extends Error {
  readonly path: string;

  /** `expected` includes the received type and repeats no text. */
  constructor(expected: string, path = "") {
    super(expected);
    this.path = path;
  }
}

function misfit(expected: string, received: unknown): Misfit {
  const isNamed = typeof received === "number" || typeof received === "boolean" || received === null;
  return new Misfit(`${expected}, got ${isNamed ? received : typeof received}`);
}

/** Throws `corrupt` unless `isSo`. `field` names the stored field. */
export function expectStored(isSo: boolean, field: string, expected: string): asserts isSo {
  if (!isSo) throw new SealdexError("corrupt", `${field}: expected ${expected}`);
}

/** Parses and checks JSON in UTF-8. Throws `corrupt`. `object` names the text in messages. */
export function parseStored<T>(json: Uint8Array, object: string, check: Check<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.length).toString("utf8"));
  } catch {
    // Without the cause, whose message quotes the text.
    throw new SealdexError("corrupt", `${object}: expected JSON`);
  }
  return checkStored(object, () => check(value));
}

/** Turns a `Misfit` of `check` into `corrupt`. */
export function checkStored<T>(object: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    const field = error.path === "" ? "" : `${error.path.replace(/^\./, "")}: `;
    throw new SealdexError("corrupt", `${object}: ${field}expected ${error.message}`);
  }
}

export function integer(min: number, max = countMax): Check<number> {
  return (value) => {
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max)
      return value as number;
    throw misfit(min === max ? `${min}` : `an integer from ${min} to ${max}`, value);
  };
}

export function real(min: number, max: number): Check<number> {
  return (value) => {
    if (typeof value === "number" && value >= min && value <= max) return value;
    throw misfit(`a number from ${min} to ${max}`, value);
  };
}

export const flag: Check<boolean> = (value) => {
  if (typeof value === "boolean") return value;
  throw misfit("a boolean", value);
};

/** A string of at most `unitsMax` UTF-16 code units. */
export function textUpTo(unitsMax = Infinity): Check<string> {
  return (value) => {
    if (typeof value === "string" && value.length <= unitsMax) return value;
    throw misfit(unitsMax === Infinity ? "a text" : `a text of at most ${unitsMax} characters`, value);
  };
}

export function matching(pattern: RegExp, expected: string): Check<string> {
  return (value) => {
    if (typeof value === "string" && pattern.test(value)) return value;
    throw misfit(expected, value);
  };
}

/** `bytes` bytes in hexadecimal. */
export function hexadecimal(bytes: number): Check<string> {
  return matching(new RegExp(`^[0-9a-f]{${2 * bytes}}$`), `${bytes} bytes in hexadecimal`);
}

/** From `min` to `max` bytes in base64. */
export function base64(min: number, max = min): Check<string> {
  return (value) => {
    if (typeof value === "string") {
      const bytes = Buffer.from(value, "base64");
      if (bytes.length >= min && bytes.length <= max && bytes.toString("base64") === value) return value;
    }
    throw misfit(`${min === max ? min : `${min} to ${max}`} bytes in base64`, value);
  };
}

export function oneOf<T>(...values: readonly T[]): Check<T> {
  return (value) => {
    if ((values as readonly unknown[]).includes(value)) return value as T;
    throw misfit(values.map((one) => JSON.stringify(one)).join(" or "), value);
  };
}

export function either<A, B>(first: Check<A>, second: Check<B>): Check<A | B> {
  return (value) => {
    try {
      return first(value);
    } catch {
      return second(value);
    }
  };
}

/** Undefined if the member is absent. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value) => (value === undefined ? undefined : check(value));
}

export function listOf<T>(check: Check<T>, min = 0, max = Infinity): Check<T[]> {
  return (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max)
      throw misfit(`an array of ${min} to ${max}`, Array.isArray(value) ? value.length : value);
    return value.map((one, i) => within(`[${i}]`, () => check(one)));
  };
}

/** An array with exactly these elements. */
export function tuple<T extends readonly unknown[]>(
  ...checks: {
    readonly [I in keyof T]: Check<T[I]>;
  }
): Check<T> {
  return (value) => {
    if (!Array.isArray(value) || value.length !== checks.length)
      throw misfit(`an array of ${checks.length}`, Array.isArray(value) ? value.length : value);
    return checks.map((check, i) => within(`[${i}]`, () => check(value[i]))) as unknown as T;
  };
}

/** An object with these members and no others, not even inherited ones; absent members stay absent. */
export function record<T>(shape: Shape<T>): Check<T> {
  const names = Object.keys(shape) as (keyof T & string)[];
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw misfit("an object", value);
    const checked = Object.create(null) as Partial<T>;
    let left = Object.keys(value).length;
    for (const name of names) {
      const isPresent = Object.hasOwn(value, name);
      if (isPresent) left--;
      const member = within(`.${name}`, () => shape[name](isPresent ? (value as T)[name] : undefined));
      if (isPresent) checked[name] = member;
    }
    if (left > 0) throw new Misfit(`no members but ${names.join(", ")}`);
    return checked as T;
  };
}

/**
 * Objects with these members, stored by member: a list of the values that all objects have of it, with null for none. A member that no
 * object has is absent.
 */
export function columns<T>(shape: Shape<T>): Check<T[]> {
  const names = Object.keys(shape) as (keyof T & string)[];
  const column = optional(listOf((value) => value));
  const lists = record<Record<string, unknown[] | undefined>>(
    Object.fromEntries(names.map((name) => [name, column])),
  );
  return (value) => {
    const values = lists(value);
    const lengths = new Set(Object.values(values).map((list) => list?.length));
    const [length = 0] = lengths;
    if (lengths.size > 1) throw new Misfit("lists of one length");
    return Array.from({ length }, (_, i) => {
      const checked = Object.create(null) as Partial<T>;
      for (const name of names) {
        const member = within(`.${name}[${i}]`, () => shape[name](values[name]?.[i] ?? undefined));
        if (member !== undefined) checked[name] = member;
      }
      return checked as T;
    });
  };
}

function within<T>(step: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof Misfit) throw new Misfit(error.message, step + error.path);
    throw error;
  }
}
