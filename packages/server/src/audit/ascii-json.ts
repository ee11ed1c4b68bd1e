/**
 * Escapes JSON to printable ASCII, for records of one line: some programs also break lines at
 * U+0085, U+2028 and U+2029, and terminals interpret other characters that JSON may contain.
 */
export function asciiJson(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
