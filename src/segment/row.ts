/**
 * Rows: what a segment keeps of an item beside its vector. FORMAT.md §4.
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
  const idBytes = Buffer.from(id, "utf8");
  const length = Buffer.alloc(2);
  length.writeUInt16LE(idBytes.length);
  return Buffer.concat([length, idBytes, Buffer.from(metadataJson, "utf8")]);
}

export function recordId(record: Uint8Array): string {
  const length = record[0] | (record[1] << 8);
  return utf8.decode(record.subarray(2, 2 + length));
}

/** A fresh object on every call. */
export function recordMetadata(record: Uint8Array): Metadata {
  const length = record[0] | (record[1] << 8);
  return JSON.parse(utf8.decode(record.subarray(2 + length))) as Metadata;
}

export function decodeContents(contents: Uint8Array): string {
  return utf8.decode(contents);
}

const absent = 0xffffffff;

/** A page: u32 length of each part (0xffffffff: absent), then the parts. */
export function encodePage(parts: readonly (Uint8Array | null)[]): Uint8Array {
  const lengths = Buffer.alloc(4 * parts.length);
  const present: Uint8Array[] = [lengths];
  parts.forEach((part, i) => {
    lengths.writeUInt32LE(part === null ? absent : part.length, 4 * i);
    if (part !== null) present.push(part);
  });
  return Buffer.concat(present);
}

/** The parts of a page of `n`, as views of `page`. */
export function decodePage(page: Uint8Array, n: number): (Uint8Array | null)[] {
  const lengths = new DataView(page.buffer, page.byteOffset, 4 * n);
  let offset = 4 * n;
  return Array.from({ length: n }, (_, i) => {
    const length = lengths.getUint32(4 * i, true);
    if (length === absent) return null;
    offset += length;
    return page.subarray(offset - length, offset);
  });
}
