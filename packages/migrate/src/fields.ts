/** Finds id, vector, text and metadata among the fields of a record. */

import { parseJson } from "./json-values.js";
import { invalid, type Row } from "./source.js";

/** Names that the user gives. */
export interface FieldNames {
  readonly id?: string | undefined;
  readonly vector?: string | undefined;
  readonly text?: string | undefined;
  readonly metadata?: string | undefined;
}

/** Names of other stores, the first of which counts. */
const usual: Readonly<Record<keyof FieldNames, readonly string[]>> = {
  id: ["id", "_id"],
  vector: ["vector", "embedding", "values"],
  text: ["text", "contents", "content", "document", "pageContent", "page_content"],
  metadata: ["metadata"],
};

type Fields = Readonly<Record<string, unknown>>;

export function fieldOf(record: Fields, kind: keyof FieldNames, names: FieldNames): string | undefined {
  const given = names[kind];
  if (given === undefined) return usual[kind].find((name) => Object.hasOwn(record, name));
  if (!Object.hasOwn(record, given)) throw invalid(`--${kind}-field: a row has no field ${given}`);
  return given;
}

/** The fields under other names join the metadata. */
export function splitFields(record: Fields, names: FieldNames): Row {
  const id = fieldOf(record, "id", names);
  const vector = fieldOf(record, "vector", names);
  return {
    id: id === undefined ? undefined : idText(record[id]),
    vector: vector === undefined ? undefined : vectorOf(record[vector]),
    ...splitPayload(without(record, [id, vector]), names),
  };
}

/** Without a given name, a field of another type than expected is one of the metadata. */
export function splitPayload(payload: Fields, names: FieldNames): Pick<Row, "contents" | "metadata"> {
  const textual = (name: string) => payload[name] === null || typeof payload[name] === "string";
  const text = names.text ?? usual.text.find((name) => Object.hasOwn(payload, name) && textual(name));
  const metadata =
    names.metadata ??
    usual.metadata.find((name) => payload[name] === null || objectOf(payload[name]) !== undefined);
  const contents = text === undefined ? null : (payload[text] ?? null);
  if (contents !== null && typeof contents !== "string") {
    throw invalid(`${text}: expected a text, got ${typeof contents}; choose another with --text-field`);
  }
  const own = metadata === undefined ? {} : objectOf(payload[metadata] ?? {});
  if (own === undefined) {
    throw invalid(`${metadata}: expected an object; choose another field with --metadata-field`);
  }
  const others = without(payload, [text, metadata]);
  const both = Object.keys(others).find((name) => Object.hasOwn(own, name));
  if (both !== undefined)
    throw invalid(`${both}: a field of the row and of its metadata; rename one of them`);
  return { contents: contents ?? undefined, metadata: { ...own, ...others } };
}

function without(record: Fields, names: readonly (string | undefined)[]): Fields {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

/** Columns of the type json come as text from some stores. */
function objectOf(value: unknown): Fields | undefined {
  if (typeof value === "string" && value.startsWith("{")) {
    try {
      return parseJson(value) as Fields;
    } catch {
      return undefined;
    }
  }
  const isObject = Object.prototype.toString.call(value) === "[object Object]";
  return isObject ? (value as Fields) : undefined;
}

/** Ids of numbers and UUIDs become their texts. */
export function idText(id: unknown): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id === "string") return id;
  if (typeof id === "number" || typeof id === "bigint") return String(id);
  throw invalid(`id: expected a text or an integer, got ${typeof id}`);
}

/** Numbers, their JSON (as pgvector prints them), or base64 of float32 (as our own export has them). */
export function vectorOf(value: unknown): ArrayLike<number> | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === "string") {
    return value.startsWith("[") ? vectorOf(fromJson(value)) : fromBase64(value);
  }
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && "length" in value);
  if (!isList) throw invalid("vector: expected a list of numbers; choose one with --vector-field");
  const list = value as ArrayLike<unknown>;
  for (let i = 0; i < list.length; i++) {
    if (typeof list[i] !== "number") throw invalid(`vector[${i}]: expected a number, got ${typeof list[i]}`);
  }
  return list as ArrayLike<number>;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("vector: expected numbers, got invalid JSON");
  }
}

function fromBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, "base64");
  // Buffer skips characters outside base64.
  if (bytes.length === 0 || bytes.length % 4 !== 0 || bytes.toString("base64") !== text) {
    throw invalid("vector: expected numbers, or base64 of float32 values");
  }
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}
