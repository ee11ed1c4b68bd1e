/** JSON values that contain bytes: as JSON with nulls, and the bytes with the places that they have. */

import { invalid, isPlain, losslessJson } from "../../checks/input.js";
import { isBytes } from "../../checks/value-kinds.js";
import { SealdexError } from "../../errors.js";

export type Value = Record<string, unknown>;
type Path = readonly (string | number)[];

export interface ValueWithBytes {
  /** With null where bytes are. */
  readonly json: string;
  readonly blobs: readonly { readonly path: Path; readonly bytes: Uint8Array }[];
}

/** Copies a value. Throws `invalid_request` for anything but JSON and bytes. */
export function takeValue(value: unknown): ValueWithBytes {
  if (value === undefined) throw invalid("value: expected an object, got undefined");
  const blobs: { path: Path; bytes: Uint8Array }[] = [];
  const split = (part: unknown, path: Path): unknown => {
    if (typeof part !== "object" || part === null) return part;
    if (isBytes(part) && path.length > 0) {
      blobs.push({ path, bytes: Uint8Array.from(part) });
      return null;
    }
    if (!isPlain(part)) return part;
    if (Array.isArray(part)) return part.map((each, i) => split(each, [...path, i]));
    return Object.fromEntries(Object.entries(part).map(([key, each]) => [key, split(each, [...path, key])]));
  };
  let json: unknown;
  try {
    json = split(value, []);
  } catch (cause) {
    throw new SealdexError("invalid_request", "value: expected JSON values, got a cycle or deep nesting", {
      cause,
    });
  }
  return { json: losslessJson(json, "value"), blobs };
}

/** As one sequence: a line of JSON, which has no line break, and the bytes. */
export function encodeValue({ json, blobs }: ValueWithBytes): Uint8Array {
  const places = JSON.stringify(blobs.map(({ path, bytes }) => [path, bytes.length]));
  const head = Buffer.from(`[${json},${places}]\n`, "utf8");
  return Buffer.concat([head, ...blobs.map(({ bytes }) => bytes)]);
}

export function decodeValue(encoded: Uint8Array): Value {
  const end = encoded.indexOf(10);
  const head = Buffer.from(encoded.buffer, encoded.byteOffset, end).toString("utf8");
  const [value, places] = JSON.parse(head) as [Value, [Path, number][]];
  let start = end + 1;
  for (const [path, length] of places) {
    let parent: unknown = value;
    for (const key of path.slice(0, -1)) parent = (parent as Value)[key];
    (parent as Value)[path[path.length - 1]] = Uint8Array.from(encoded.subarray(start, start + length));
    start += length;
  }
  return value;
}
