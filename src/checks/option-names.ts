/**
 * Tables of option names. Unknown options are refused: an ignored filter would return items that
 * the caller meant to exclude. Each table is typed by its options, so that a missing or additional
 * name does not compile.
 *
 * Uses no Node.js modules.
 */

import { invalid, typeName } from "./input.js";

/** The keys of every member of a union. */
type NameOf<T> = T extends unknown ? keyof T & string : never;

/** Throws `invalid_request` for a value that no call accepts. `name` names it in messages. */
export type OptionCheck = (value: unknown, name: string) => void;

export interface OptionNames {
  /** The method's name in messages. */
  readonly where: string;
  readonly names: ReadonlySet<string>;
  /**
   * Options of nested objects, for example `indexConfig.dimension`, as suggestions for unknown
   * names.
   */
  readonly innerNames: readonly string[];
  /** Names of other libraries, and the words of a message for ours. */
  readonly elsewhere: Readonly<Record<string, string>>;
  /** Every option, set to undefined. */
  readonly absent: Readonly<Record<string, undefined>>;
  readonly checks: readonly (readonly [name: string, check: OptionCheck])[];
}

/**
 * Exactly the options of `T`, each with its check, or `true` if it is checked where it is used.
 * `inner`: those of a nested object.
 * `elsewhere`: names of other libraries, each with the words of a message for ours.
 */
export function optionNames<T>(
  where: string,
  table: Readonly<Record<NameOf<T>, true | OptionCheck>>,
  inner?: OptionNames,
  elsewhere: Readonly<Record<string, string>> = {},
): OptionNames {
  const innerNames = inner === undefined ? [] : [...inner.names].map((name) => `${inner.where}.${name}`);
  const names = Object.keys(table);
  const absent = Object.fromEntries(names.map((name) => [name, undefined]));
  const checks = Object.entries<true | OptionCheck>(table).flatMap(([name, check]) =>
    check === true ? [] : [[name, check] as const],
  );
  return { where, names: new Set(names), innerNames, elsewhere, absent, checks };
}

/**
 * Copies the options; absent ones are undefined. Throws `invalid_request` unless `options` is an
 * object with known keys and values that pass their checks. `at` is its place.
 *
 * Calls read only the copy: callers may change their object after the call has returned.
 */
export function takeOptions<T extends object>(options: T, known: OptionNames, at = known.where): T {
  checkObject(options, at);
  for (const name in options) if (!isOfEveryObject(options, name)) checkName(name, known, at);
  const values = options as Readonly<Record<string, unknown>>;
  const taken: Record<string, unknown> = { ...known.absent };
  for (const name of known.names) if (!isOfEveryObject(options, name)) taken[name] = values[name];
  checkOptions(taken, known);
  return taken as T;
}

/** Throws `invalid_request` for a value that does not pass its check. */
export function checkOptions(taken: Readonly<Record<string, unknown>>, { checks }: OptionNames): void {
  for (const [name, check] of checks) if (taken[name] !== undefined) check(taken[name], name);
}

/** The options that `known` names, of a result of `takeOptions` that has others too. */
export function pickOptions<T extends object>(options: T, { names }: OptionNames): T {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.has(name))) as T;
}

/** Whether a caller gave this option, for an object of any kind. */
export function hasOption(options: unknown, name: string): boolean {
  return (
    typeof options === "object" && options !== null && name in options && !isOfEveryObject(options, name)
  );
}

/**
 * Whether `options` has this property only from a polluted `Object.prototype`, of any realm. Other
 * prototypes are allowed: a class may have options as accessors, and a proxy may answer for
 * unlisted ones.
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

/** Throws `invalid_request` for anything but an object that is no array. */
export function checkObject(options: unknown, at: string): asserts options is object {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) return;
  throw invalid(`${at}: expected an object, got ${typeName(options)}`);
}

/** Throws `invalid_request` for an unknown name. */
export function checkName(name: string, known: OptionNames, at: string): void {
  if (!known.names.has(name)) throw invalid(`${at}: ${unknownName(name, [...known.names], known)}`);
}

/** Message for an unknown option name, with a similar one if there is any. */
export function unknownName(
  name: string,
  known: readonly string[],
  { innerNames = [], elsewhere = {} }: Partial<Pick<OptionNames, "innerNames" | "elsewhere">> = {},
): string {
  // Other words may be a misplaced key or URL.
  const shown = /^[\w$]{1,40}$/.test(name) ? `"${name}"` : "another name";
  const similar = similarName(name, [...known, ...innerNames, ...Object.keys(elsewhere)]);
  const meant =
    similar !== undefined && Object.hasOwn(elsewhere, similar) ? elsewhere[similar] : `"${similar}"`;
  const question = similar === undefined ? "." : `; did you mean ${meant}?`;
  return `unknown property ${shown}${question} Expected ${known.join(", ")}`;
}

/** More edits make another word. */
const editsMax = 2;

/**
 * The candidate with the fewest edits, at most two and fewer than it has letters, ignoring case and
 * underscores; ties by order.
 */
export function similarName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = fold(name.slice(0, 40));
  let best: string | undefined;
  let edits = editsMax + 1;
  for (const candidate of candidates) {
    const word = fold(candidate.slice(candidate.lastIndexOf(".") + 1));
    const distance = editDistance(wanted, word);
    const isOther = distance > 0 && distance >= Math.max(wanted.length, word.length) - 1;
    if (distance < edits && !isOther) [best, edits] = [candidate, distance];
  }
  return best;
}

function fold(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/** Levenshtein distance. */
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
