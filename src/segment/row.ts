/**
 * Rows: what a segment keeps of an item besides its vector. FORMAT.md §4.
 *
 * A record holds id and metadata together, since every result needs the id and most need the metadata;
 * contents are kept apart, so that a filter does not read texts.
 */

import type { Metadata } from "../vector-index.js";

/** One item, encoded. */
export interface Row {
  /** 16 bytes, the item's identity within the index. */
  readonly fingerprint: Uint8Array;
  /** See `encodeRecord`. */
  readonly record: Uint8Array;
  /** UTF-8, or null if the item has no contents. */
  readonly contents: Uint8Array | null;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** u16 length of the id, the id, the metadata as JSON text. */
export function encodeRecord(id: string, metadataJson: string): Uint8Array {
  const idBytes = Buffer.byteLength(id, "utf8");
  const record = Buffer.allocUnsafe(2 + idBytes + Buffer.byteLength(metadataJson, "utf8"));
  record.writeUInt16LE(idBytes);
  record.write(id, 2, "utf8");
  record.write(metadataJson, 2 + idBytes, "utf8");
  return record;
}

export function recordId(record: Uint8Array): string {
  const length = record[0] | (record[1] << 8);
  return utf8.decode(record.subarray(2, 2 + length));
}

/** A fresh object on every call. */
export function recordMetadata(record: Uint8Array): Metadata {
  return JSON.parse(recordMetadataJson(record)) as Metadata;
}

export function recordMetadataJson(record: Uint8Array): string {
  const length = record[0] | (record[1] << 8);
  return utf8.decode(record.subarray(2 + length));
}

export function decodeContents(contents: Uint8Array): string {
  return utf8.decode(contents);
}
