/**
 * Rows: the parts of an item that a segment keeps besides its vector. docs/internals/format.md §4.
 *
 * A record holds id and metadata together, since every result needs the id and most need the metadata;
 * contents are kept apart, so that a filter does not read texts.
 */

import { SealdexError } from "../../errors.js";
import { expectStored, timeMax } from "../../checks/stored-json.js";
import type { Metadata } from "../../api/vector-index.js";
import type { PageEntries } from "./page.js";

/** One item, encoded. */
export interface Row {
  /** 16 bytes, the item's identity within the index. */
  readonly fingerprint: Uint8Array;
  /** See `encodeRecord`. */
  readonly record: Uint8Array;
  /** UTF-8, or null if the item has no contents. */
  readonly contents: Uint8Array | null;
}

/** Rows by position. A row may become an object when it is asked for: a batch has many, and the garbage collector looks at each object that is kept. */
export interface Rows {
  readonly length: number;
  at(position: number): Row;
}

export function rowsOf(rows: readonly Row[]): Rows {
  return { length: rows.length, at: (position) => rows[position] };
}

/** The rows at these positions. */
export function rowsAt(rows: Rows, positions: Uint32Array): Rows {
  return { length: positions.length, at: (place) => rows.at(positions[place]) };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Of the u16 before the id: the item expires. */
const expires = 0x8000;
const idLengthMax = 0x7fff;
const timeBytes = 8;
/** Bytes of an id up to which `recordIdAt` reads it byte by byte. */
const shortIdMax = 16;

/** The fields of a record. */
export interface RecordFields {
  readonly id: string;
  readonly metadataJson: string;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

/** u16 length of the id, the id, the expiry as f64 if there is one, the metadata as JSON text. */
export function encodeRecord({ id, metadataJson, expiresAt }: RecordFields): Uint8Array {
  const idBytes = Buffer.byteLength(id, "utf8");
  const hasTime = expiresAt !== undefined;
  const metadataAt = 2 + idBytes + (hasTime ? timeBytes : 0);
  const record = Buffer.allocUnsafe(metadataAt + Buffer.byteLength(metadataJson, "utf8"));
  record.writeUInt16LE(idBytes + (hasTime ? expires : 0));
  record.write(id, 2, "utf8");
  if (hasTime) record.writeDoubleLE(expiresAt, 2 + idBytes);
  record.write(metadataJson, metadataAt, "utf8");
  return record;
}

export const recordEntries: PageEntries = {
  name: "records",
  mayBeAbsent: false,
  bytesMin: 2,
  isOne(page, start, end) {
    const idEnds = idEndAt(page, start);
    if ((page[start + 1] & (expires >>> 8)) === 0) return idEnds <= end;
    if (idEnds + timeBytes > end) return false;
    const time = new DataView(page.buffer, page.byteOffset + idEnds, timeBytes).getFloat64(0, true);
    return time >= 0 && time <= timeMax;
  },
};

export const contentEntries: PageEntries = { name: "contents", mayBeAbsent: true, bytesMin: 0 };

export function recordId(record: Uint8Array): string {
  return recordIdAt(record, 0);
}

/** Where the id of the record that begins at `start` of a page ends. */
export function idEndAt(page: Uint8Array, start: number): number {
  return start + 2 + ((page[start] | (page[start + 1] << 8)) & idLengthMax);
}

/** That id. */
export function recordIdAt(page: Uint8Array, start: number, end = idEndAt(page, start)): string {
  const from = start + 2;
  if (end - from > shortIdMax) return storedText(page.subarray(from, end), "id");
  // A short text is made of its characters faster than views are made for the decoder.
  let id = "";
  for (let at = from; at < end; at++) {
    const byte = page[at];
    if (byte >= 0x80) return storedText(page.subarray(from, end), "id");
    id += String.fromCharCode(byte);
  }
  return id;
}

/** When the item expires, in milliseconds since 1970; undefined: never. */
export function recordExpiry(record: Uint8Array): number | undefined {
  if (!hasExpiry(record)) return undefined;
  return new DataView(record.buffer, record.byteOffset + idEnd(record), timeBytes).getFloat64(0, true);
}

function hasExpiry(record: Uint8Array): boolean {
  return (record[1] & (expires >>> 8)) !== 0;
}

function idEnd(record: Uint8Array): number {
  return idEndAt(record, 0);
}

/** A fresh object on every call. */
export function recordMetadata(record: Uint8Array): Metadata {
  const json = recordMetadataJson(record);
  let metadata: unknown;
  try {
    metadata = JSON.parse(json);
  } catch {
    // Without the cause, whose message quotes the text.
  }
  expectStored(typeof metadata === "object" && metadata !== null, "record: metadata", "a JSON object");
  return metadata as Metadata;
}

export function recordMetadataJson(record: Uint8Array): string {
  return storedText(record.subarray(idEnd(record) + (hasExpiry(record) ? timeBytes : 0)), "metadata");
}

export function decodeContents(stored: Uint8Array): string {
  return storedText(stored, "contents");
}

/** Throws `corrupt` unless it is UTF-8. */
export function storedText(bytes: Uint8Array, field: string): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new SealdexError("corrupt", `stored ${field}: expected UTF-8`);
  }
}
