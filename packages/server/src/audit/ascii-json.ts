/**
 * JSON in printable ASCII, for records of one line: some programs end a line at U+0085, U+2028 or U+2029, too, and terminals obey
 * other characters that JSON need not escape.
 */
export function asciiJson(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
