import { isDate, isMapOrSet } from "./value-kinds.js";

/** What an object is that JSON would change, and what to give in its place. */
export function instanceName(value: object): string {
  if (isDate(value)) return "a Date (give its toISOString(), or a number)";
  if (isMapOrSet(value)) return "a Map or Set (give an object or an array)";
  return "an instance of a class (give an object literal)";
}
