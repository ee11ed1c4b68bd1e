/**
 * An item as a line of JSON, `{"id","namespace","vector","contents","metadata","expiresAt"}`, with
 * the vector as base64 of float32 or as numbers.
 */

import { invalid, typeName } from "../../checks/input.js";
import { decodeTime, encodeVector } from "../../client/wire/values.js";
import type { StoredItem } from "../vector-index.js";
import type { IngestItem } from "./ingest.js";

/** Format of vectors: base64 of little-endian float32, numbers that read back exactly, or none. */
export type VectorForm = "base64" | "numbers" | "none";

/** Includes the line feed. */
export function encodeLine(item: StoredItem, form: VectorForm): string {
  const { id, namespace, vector, contents, metadata, expiresAt } = item;
  const fields = [
    `"id":${JSON.stringify(id)}`,
    ...(namespace === undefined ? [] : [`"namespace":${JSON.stringify(namespace)}`]),
    ...(vector === undefined || form === "none" ? [] : [`"vector":${vectorText(vector, form)}`]),
    ...(contents === undefined ? [] : [`"contents":${JSON.stringify(contents)}`]),
    ...(metadata === undefined ? [] : [`"metadata":${JSON.stringify(metadata)}`]),
    ...(expiresAt === undefined ? [] : [`"expiresAt":${JSON.stringify(expiresAt)}`]),
  ];
  return `{${fields.join(",")}}\n`;
}

/** Names of the fields in exports of other stores. */
const otherNames = {
  id: ["_id"],
  vector: ["embedding", "values"],
  contents: ["document", "text", "pageContent", "page_content"],
} as const;

/**
 * Takes the field names of other stores too, and makes an id, random by default, if there is none.
 * Throws `invalid_request`. `upsert` checks the item itself.
 */
export function decodeLine(
  line: string,
  where: string,
  makeId: () => string = () => crypto.randomUUID(),
): IngestItem {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // Without the cause, whose message quotes the line.
    throw invalid(`${where}: expected a JSON object, got invalid JSON`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`${where}: expected a JSON object, got ${typeName(value)}`);
  }
  return itemOfFields({ ...value }, where, makeId);
}

/** As `decodeLine`, of the fields of a line. */
export function itemOfFields(
  fields: Record<string, unknown>,
  where: string,
  makeId: () => string,
): IngestItem {
  const { vector, expiresAt, ...item } = withOwnNames(fields) as unknown as IngestItem & {
    readonly vector?: unknown;
    readonly expiresAt?: unknown;
  };
  return {
    ...item,
    id: item.id === undefined ? makeId() : item.id,
    ...(vector !== undefined && {
      vector: typeof vector === "string" ? decodeBase64(vector, where) : vector,
    }),
    ...(expiresAt !== undefined && { expiresAt: decodeTime(expiresAt, `${where}.expiresAt`) }),
  };
}

/** Changes the fields. Of several names for one field, the others stay; in a line, they are refused as unknown. */
export function withOwnNames(line: Record<string, unknown>): Record<string, unknown> {
  for (const [name, others] of Object.entries(otherNames)) {
    const other = Object.hasOwn(line, name) ? undefined : others.find((each) => Object.hasOwn(line, each));
    if (other === undefined) continue;
    line[name] = line[other];
    delete line[other];
  }
  return line;
}

function vectorText(vector: Float32Array, form: "base64" | "numbers"): string {
  if (form === "numbers") return JSON.stringify(encodeVector(vector, "vector"));
  const bytes = Buffer.alloc(4 * vector.length);
  vector.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  return `"${bytes.toString("base64")}"`;
}

function decodeBase64(text: string, where: string): Float32Array {
  const bytes = Buffer.from(text, "base64");
  // Buffer silently skips characters outside base64.
  if (bytes.length === 0 || bytes.length % 4 !== 0 || bytes.toString("base64") !== text) {
    throw invalid(`${where}.vector: expected numbers, or base64 of float32 values, got another text`);
  }
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}
