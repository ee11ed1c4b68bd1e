import { isDate, isMapOrSet } from "./value-kinds.js";

/** Names an object that JSON would change, and its replacement. */
export function instanceName(value: object): string {
  if (isDate(value)) return "a Date (give its toISOString(), or a number)";
  if (isMapOrSet(value)) return "a Map or Set (give an object or an array)";
  return "an instance of a class (give an object literal)";
}
