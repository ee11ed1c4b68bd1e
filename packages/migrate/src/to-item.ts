/** Turns rows into items: an id, a vector of float32, JSON. */

import { createHash } from "node:crypto";
import { type Note, toJson } from "./json-values.js";
import type { Row } from "./source.js";

export interface MovedItem {
  readonly id: string;
  readonly vector: Float32Array;
  readonly contents?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Undefined for a row without a vector, which nothing could find. */
export function toItem(row: Row, note: Note): MovedItem | undefined {
  if (row.vector === undefined || row.vector.length === 0) return undefined;
  const vector = Float32Array.from(row.vector);
  const metadata = toJson(row.metadata, "metadata", note) as Record<string, unknown>;
  const contents = row.contents === undefined ? undefined : (toJson(row.contents, "text", note) as string);
  return {
    id: row.id ?? idOf(vector, contents, metadata),
    vector,
    ...(contents !== undefined && { contents }),
    metadata,
  };
}

/** Equal rows have equal ids, in every run. */
function idOf(vector: Float32Array, contents: string | undefined, metadata: object): string {
  return createHash("sha256")
    .update(JSON.stringify([contents ?? null, metadata]))
    .update(new Uint8Array(vector.buffer))
    .digest("hex")
    .slice(0, 32);
}
