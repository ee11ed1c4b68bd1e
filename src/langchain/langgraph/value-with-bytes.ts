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

/** Throws `corrupt` for anything that `encodeValue` does not write: other writers of the index can store it. */
export function decodeValue(encoded: Uint8Array): Value {
  const end = encoded.indexOf(10);
  const head = Buffer.from(encoded.buffer, encoded.byteOffset, Math.max(end, 0)).toString("utf8");
  try {
    const [value, places] = JSON.parse(head) as [Value, [Path, number][]];
    let start = end + 1;
    for (const [path, length] of places) {
      let parent: unknown = value;
      for (const key of path.slice(0, -1)) parent = ownMember(parent, key);
      const last = path[path.length - 1];
      if (ownMember(parent, last) !== null) throw invalid("bytes: expected null in their place");
      (parent as Value)[last] = Uint8Array.from(encoded.subarray(start, start + length));
      start += length;
    }
    if (start !== encoded.length) throw invalid("bytes: expected as many as there are");
    return value;
  } catch (cause) {
    throw new SealdexError("corrupt", "value: it is not as this library stores one", { cause });
  }
}

/** Paths are stored, so they could lead to a prototype. */
function ownMember(value: unknown, key: string | number): unknown {
  if (typeof value === "object" && value !== null && Object.hasOwn(value, key)) return (value as Value)[key];
  throw invalid("bytes: expected a place in the value");
}
