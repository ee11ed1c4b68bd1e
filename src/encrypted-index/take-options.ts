/** The options of a query in an object of one shape, whatever object the caller has them in. */

import { types } from "node:util";
import { checkName, checkObject, checkOptions, type OptionNames } from "../option-names.js";

/**
 * The same options in an object that has all of them, undefined if they are not given. Throws as `checkOptions`.
 *
 * Reading one of many options takes V8 a hundredth of a microsecond from objects of one shape, and a tenth from an object of a shape of
 * its own, as `{ ...shared, queryVector }` makes one per call.
 */
export function takeOptions<T extends object>(options: T, known: OptionNames): T {
  checkObject(options, known.where);
  const values = options as Readonly<Record<string, unknown>>;
  const taken: Record<string, unknown> = { ...known.absent };
  if (hasOwnOptionsAlone(options)) {
    for (const name of Object.getOwnPropertyNames(options)) {
      checkName(name, known, known.where);
      taken[name] = values[name];
    }
  } else {
    checkOptions(options, known);
    for (const name of known.names) taken[name] = values[name];
  }
  return taken as T;
}

/** An instance of a class may have options as accessors, which are not its own; a proxy may answer for options that it does not list. */
function hasOwnOptionsAlone(options: object): boolean {
  if (types.isProxy(options)) return false;
  const prototype: unknown = Object.getPrototypeOf(options);
  return prototype === Object.prototype || prototype === null;
}
