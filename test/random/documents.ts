/** Random metadata that are hard on metadata columns, and filters that reach into them. */

import { compileFilter, type CompiledFilter, type Filter } from "../../src/api/filter/compile.js";
import type { Choice } from "./choice.js";

export type Metadata = Record<string, unknown>;

const plainKeys = ["a", "b", "c", "team", "tags", "author", "n"];
const oddKeys = [
  "",
  " ",
  "0",
  "1",
  "00",
  "-1",
  "a.b",
  ".",
  "$x",
  "$",
  "$eq",
  "__proto__",
  "constructor",
  "toString",
  "length",
  "null",
  "a\u0000b",
  "\u0007\n",
  "ключ",
  "\u{1f600}",
  "\ud83d",
  "k".repeat(2000),
];
const beginning = "x".repeat(95);
const scalars: readonly unknown[] = [
  null,
  true,
  false,
  0,
  1,
  2,
  -1.5,
  0.1,
  2 ** 53,
  1e21,
  5e-324,
  -Number.MAX_VALUE,
  "",
  "x",
  "y",
  "1",
  "null",
  "NaN",
  "Infinity",
  "2020-01-02",
  "a\u0000b",
  "\u{ffee}",
  "\u{1f600}",
  "\ud83d",
  beginning,
  `${beginning}x`,
  `${beginning}xx`,
  `${beginning}xy`,
  `${beginning}\u{1f600}`,
  `${beginning}\u{1f601}!`,
  "x".repeat(500),
  `${"x".repeat(499)}y`,
];

function key(choice: Choice): string {
  return choice.of(choice.chance(0.75) ? plainKeys : oddKeys);
}

function scalar(choice: Choice): unknown {
  return choice.chance(0.1) ? choice.below(1000) : choice.of(scalars);
}

function value(choice: Choice, depth: number): unknown {
  if (depth === 0) return scalar(choice);
  return choice.weighted<unknown>([
    [6, () => scalar(choice)],
    [2, () => choice.list(choice.below(4), () => value(choice, depth - 1))],
    [1, () => choice.list(choice.below(4), () => object(choice, depth - 1))],
    [2, () => object(choice, depth - 1)],
  ]);
}

function object(choice: Choice, depth: number): Metadata {
  return Object.fromEntries(choice.list(choice.below(4), () => [key(choice), value(choice, depth)]));
}

/** Numbers of keys and of values around what columns follow and hold. */
const sizes = [1, 62, 63, 64, 65, 66, 129, 500, 511, 512, 513, 600];

function wide(choice: Choice, size: number): Metadata {
  const prefix = choice.of(["k", "k", `${choice.below(1000)}:`]);
  const first = choice.of([0, 0, 1, 64, 300]);
  return Object.fromEntries(choice.list(size, (i) => [`${prefix}${first + i}`, choice.of([i, true, "x"])]));
}

function nested(choice: Choice, depth: number): Metadata {
  let inner: unknown = value(choice, 1);
  for (let level = 0; level < depth; level++) {
    inner = choice.chance(0.15) ? [{ d: inner }, scalar(choice)] : { d: inner };
  }
  return { d: inner };
}

function large(choice: Choice): Metadata {
  const size = choice.chance(0.05) ? choice.of([4094, 4095, 4096, 4097, 5000]) : choice.of(sizes);
  return choice.weighted<Metadata>([
    [4, () => wide(choice, size)],
    [1, () => ({ a: wide(choice, size) })],
    [1, () => ({ a: choice.list(Math.min(size, 600), (i) => ({ [`k${i}`]: i, b: i % 3 })) })],
    [1, () => ({ tags: choice.list(size, (i) => choice.of<unknown>([i, i, "x", null])) })],
    [1, () => nested(choice, choice.of([3, 31, 64, 65, 99, 300]))],
  ]);
}

/** As JSON gives it back: at most 64 KiB. */
export function randomMetadata(choice: Choice, largeShare: number): Metadata {
  const small = object(choice, 2);
  if (!choice.chance(largeShare)) return viaJson(small);
  const parts = choice.chance(0.5) ? [large(choice), small] : [small, large(choice)];
  const whole = viaJson(Object.fromEntries(parts.flatMap((part) => Object.entries(part))));
  return Buffer.byteLength(JSON.stringify(whole)) <= 65_536 ? whole : viaJson(small);
}

function viaJson(metadata: Metadata): Metadata {
  return JSON.parse(JSON.stringify(metadata)) as Metadata;
}

/** A path that some of the documents have, and a value near it. */
function place(choice: Choice, documents: readonly Metadata[]): { path: string; found: unknown } {
  const path: string[] = [];
  let found: unknown = choice.of(documents);
  do {
    if (Array.isArray(found)) {
      const position = choice.below(found.length + 1);
      found = found[position];
      if (choice.chance(0.3)) path.push(String(position));
    } else if (typeof found === "object" && found !== null) {
      const keys = Object.keys(found);
      // The last keys are the ones that columns may have no place for.
      const at = choice.chance(0.3) ? keys.length - 1 : choice.below(keys.length);
      const part = keys.length === 0 || choice.chance(0.05) ? key(choice) : keys[at];
      path.push(part);
      found = (found as Metadata)[part];
    } else break;
  } while (choice.chance(0.7));
  return { path: path.join("."), found };
}

function operand(choice: Choice, found: unknown): unknown {
  return choice.weighted<unknown>([
    [4, () => (found === undefined ? null : found)],
    [1, () => (Array.isArray(found) && found.length > 0 ? choice.of(found) : null)],
    [3, () => scalar(choice)],
    [1, () => null],
    [0.3, () => value(choice, 2)],
  ]);
}

/** Of a text, a part of it. */
function partOf(choice: Choice, whole: unknown): unknown {
  if (typeof whole !== "string") return whole;
  const begin = choice.below(whole.length + 1);
  return whole.slice(begin, choice.chance(0.5) ? undefined : begin + choice.below(4));
}

function condition(choice: Choice, documents: readonly Metadata[]): Metadata {
  const { path, found } = place(choice, documents);
  const compared = () => operand(choice, found);
  const operators = choice.weighted<unknown>([
    [2, compared],
    [2, () => ({ $eq: compared() })],
    [3, () => ({ $ne: compared() })],
    [3, () => ({ [choice.of(["$gt", "$gte", "$lt", "$lte"])]: compared() })],
    [1, () => ({ $gte: compared(), $lt: compared() })],
    [2, () => ({ [choice.of(["$in", "$nin"])]: choice.list(choice.below(4), compared) })],
    [2, () => ({ $exists: choice.chance(0.5) })],
    [1, () => ({ $not: { [choice.of(["$eq", "$ne", "$gt", "$lte"])]: compared() } })],
    [2, () => ({ $contains: partOf(choice, compared()) })],
    [0.5, () => ({ $not: { $contains: partOf(choice, compared()) } })],
  ]);
  return Object.fromEntries([[path, operators]]);
}

function tree(choice: Choice, documents: readonly Metadata[], depth: number): Metadata {
  const parts = () => choice.list(1 + choice.below(3), () => tree(choice, documents, depth - 1));
  if (depth === 0) return condition(choice, documents);
  return choice.weighted<Metadata>([
    [4, () => condition(choice, documents)],
    [1, () => ({ $or: parts() })],
    [1, () => ({ $and: parts() })],
    [0.5, () => ({ $nor: parts() })],
    [0.5, () => ({ $not: tree(choice, documents, depth - 1) })],
    [0.1, () => ({ [choice.of(["$and", "$or", "$nor"])]: [] })],
    [1, () => Object.assign(condition(choice, documents), condition(choice, documents))],
  ]);
}

/** A filter that reaches into some of the documents. */
export function randomFilter(
  choice: Choice,
  documents: readonly Metadata[],
): CompiledFilter & { filter: Filter } {
  for (;;) {
    const filter = tree(choice, documents, 2) as Filter;
    try {
      return { filter, ...compileFilter(filter) };
    } catch {
      // A key that begins with $, or an array of more than a filter may have: another one.
      continue;
    }
  }
}
