/**
 * Which options a method takes. One that it does not take is refused and never ignored: an ignored filter shows what it
 * was meant to hide. Each table holds to a type, so that it does not compile with an option too few or too many.
 *
 * Nothing of Node.js is used.
 */

import { invalid, typeName } from "./check-input.js";

/** The keys of every member of a union. */
type NameOf<T> = T extends unknown ? keyof T & string : never;

export interface OptionNames {
  /** What takes the options, as messages call it. */
  readonly where: string;
  readonly names: ReadonlySet<string>;
  /** Of objects among the options, such as `indexConfig.dimension`: where an unknown name may belong. */
  readonly innerNames: readonly string[];
  /** Every option, as one that is not given. */
  readonly absent: Readonly<Record<string, undefined>>;
}

/** The options of `T`: all of them, and no others. `inner`: those of an object among them. */
export function optionNames<T>(
  where: string,
  table: Readonly<Record<NameOf<T>, true>>,
  inner?: OptionNames,
): OptionNames {
  const innerNames = inner === undefined ? [] : [...inner.names].map((name) => `${inner.where}.${name}`);
  const names = Object.keys(table);
  const absent = Object.fromEntries(names.map((name) => [name, undefined]));
  return { where, names: new Set(names), innerNames, absent };
}

/**
 * A copy of the options, in which one that is not given is undefined. Throws `invalid_request` unless `options` is an object whose keys are
 * all among the names. `at`: where it is.
 *
 * Whatever a call needs later, it takes from the copy: callers may change their object when the call has returned.
 */
export function takeOptions<T extends object>(options: T, known: OptionNames, at = known.where): T {
  checkObject(options, at);
  for (const name in options) if (!isOfEveryObject(options, name)) checkName(name, known, at);
  const values = options as Readonly<Record<string, unknown>>;
  const taken: Record<string, unknown> = { ...known.absent };
  for (const name of known.names) if (!isOfEveryObject(options, name)) taken[name] = values[name];
  return taken as T;
}

/** Whether a caller gave this option, among those of an object of any kind. */
export function hasOption(options: unknown, name: string): boolean {
  return (
    typeof options === "object" && options !== null && name in options && !isOfEveryObject(options, name)
  );
}

/**
 * Whether `options` has this property from `Object.prototype` alone, of any realm: then somebody polluted that, and it is none of the
 * caller's. Options may come from other prototypes: an instance of a class may have them as accessors, and a proxy may answer for those that
 * it does not list.
 */
function isOfEveryObject(options: object, name: string): boolean {
  for (let owner = options; ;) {
    const isOwn = Object.hasOwn(owner, name);
    const above = Object.getPrototypeOf(owner) as object | null;
    if (above === null) return isOwn && owner !== options && Object.hasOwn(owner, "isPrototypeOf");
    if (isOwn) return false;
    owner = above;
  }
}

/** Throws `invalid_request` unless `options` is an object, and not an array. */
export function checkObject(options: unknown, at: string): asserts options is object {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) return;
  throw invalid(`${at}: expected an object, got ${typeName(options)}`);
}

/** Throws `invalid_request` unless `name` is among the names. */
export function checkName(name: string, { names, innerNames }: OptionNames, at: string): void {
  if (!names.has(name)) throw invalid(`${at}: ${unknownName(name, [...names], innerNames)}`);
}

/** What is said of a name that is none of the known ones: which of them or of the inner ones is nearest, and all known ones. */
export function unknownName(
  name: string,
  known: readonly string[],
  innerNames: readonly string[] = [],
): string {
  // Longer words, and words with other characters, may be a key or a URL in the wrong place.
  const shown = /^[\w$]{1,40}$/.test(name) ? `"${name}"` : "another name";
  return `unknown property ${shown}; did you mean "${nearest(name, [...known, ...innerNames])}"? Expected ${known.join(", ")}`;
}

/** The known name that needs the fewest edits, disregarding case and underscores; of several, the first. */
function nearest(name: string, known: readonly string[]): string {
  const wanted = fold(name.slice(0, 40));
  const distances = known.map((candidate) => editDistance(wanted, fold(lastPart(candidate))));
  return known[distances.indexOf(Math.min(...distances))];
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

function fold(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/** Insertions, deletions and substitutions from `a` to `b` (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const substituted = row[j] + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(substituted, row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row[b.length];
}
