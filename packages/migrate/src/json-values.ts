/** JSON of metadata, with a name for every value that JSON cannot hold. */

/** Called for a value that was converted. `[]` in a path is any element. */
export type Note = (path: string, kind: string) => void;

type Revive = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parse = JSON.parse as (text: string, revive?: Revive) => unknown;

/** Integers beyond 2^53 need 16 digits or more. */
const longInteger = /(?<![.\d])\d{16,}(?![.\d])/;

/** Parses JSON. Integers that a number would change become bigints. */
export function parseJson(text: string): unknown {
  if (!longInteger.test(text)) return parse(text);
  return parse(text, (_, value, { source }) => {
    const isChanged =
      typeof value === "number" &&
      source !== undefined &&
      /^-?\d+$/.test(source) &&
      !Number.isSafeInteger(value);
    return isChanged ? BigInt(source) : value;
  });
}

const depthMax = 500;

/** Converts a value to one that JSON holds. */
export function toJson(value: unknown, path: string, note: Note, depth = 0): unknown {
  const converted = (kind: string, instead: unknown) => {
    note(path, kind);
    return instead;
  };
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : converted("text with lone surrogates", value.toWellFormed());
    case "boolean":
      return value;
    case "number":
      if (Object.is(value, -0)) return converted("negative zero", 0);
      return Number.isFinite(value) ? value : converted(String(value), String(value));
    case "bigint": {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : converted("integer beyond 2^53", String(value));
    }
    case "object":
      if (value === null) return null;
      if (depth >= depthMax) return converted("nesting too deep", null);
      return objectToJson(value, path, note, depth + 1);
    default:
      return converted(typeof value, null);
  }
}

function objectToJson(value: object, path: string, note: Note, depth: number): unknown {
  const elements = (list: ArrayLike<unknown>) =>
    Array.from(list, (each) => toJson(each ?? null, `${path}[]`, note, depth));
  if (Array.isArray(value)) return elements(value);
  if (isTagged(value, "Date")) {
    const time = Number(value);
    note(path, "date");
    return Number.isNaN(time) ? null : new Date(time).toISOString();
  }
  if (ArrayBuffer.isView(value)) {
    if ("length" in value && !(value instanceof Uint8Array)) return elements(value as Float64Array);
    note(path, "bytes");
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  }
  if (isTagged(value, "Map")) {
    note(path, "map");
    return fromEntries([...(value as Map<unknown, unknown>)], path, note, depth);
  }
  if (isTagged(value, "Set")) {
    note(path, "set");
    return elements([...(value as Set<unknown>)]);
  }
  return fromEntries(Object.entries(value), path, note, depth);
}

/** A field without a value is absent. */
function fromEntries(
  entries: readonly (readonly [unknown, unknown])[],
  path: string,
  note: Note,
  depth: number,
): Record<string, unknown> {
  return Object.fromEntries(
    entries
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => [String(name), toJson(inner, `${path}.${String(name)}`, note, depth)]),
  );
}

function isTagged(value: object, tag: string): boolean {
  return Object.prototype.toString.call(value) === `[object ${tag}]`;
}
