/** What an object is that JSON would change, and what to give in its place. */
export function instanceName(value: object): string {
  if (value instanceof Date) return "a Date (give its toISOString(), or a number)";
  if (value instanceof Map || value instanceof Set) return "a Map or Set (give an object or an array)";
  return "an instance of a class (give an object literal)";
}
