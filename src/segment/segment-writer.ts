/**
 * Writes a segment: rows grouped by inverted list, sealed in blocks that can be read one by one.
 * FORMAT.md §4 gives the bytes.
 */

import type { KeyObject } from "node:crypto";
import { ObjectSealer, type ObjectContext } from "../crypto/sealed-object.js";
import type { Codec } from "../engine/codec.js";
import { isRowCodec } from "../engine/coded.js";
import type { CoarseQuantizer } from "../engine/coarse-quantizer.js";
import { gather } from "../engine/kmeans.js";
import { type DirectoryDraft, encodeDirectory } from "./directory.js";
import { buildEntries, entryWords } from "./id-table.js";
import { encodePage, type Row } from "./row.js";

/** Rows that are codes already, of a codec without vectors. */
export interface CodedRows {
  /** Row codes, layout (rows, row code). */
  readonly codes: Uint8Array;
  /** The list of each row. */
  readonly lists: Uint32Array;
}

/** Rows to store. Their fingerprints are distinct, also from the deleted ones. */
export interface Batch {
  readonly dimension: number;
  readonly rows: readonly Row[];
  /** Layout (rows, dimension), or what they were coded as. */
  readonly vectors: Float32Array | CodedRows;
  /** Fingerprints of items that this segment deletes. */
  readonly deleted: readonly Uint8Array[];
}

/** How vectors become codes in lists. Without a quantizer there is one list, 0. */
export interface Encoding {
  readonly codec: Codec;
  readonly quantizer?: CoarseQuantizer;
  /** Vectors in list space, see engine/metric.ts. */
  toListSpace(vectors: Float32Array): Float32Array;
}

/** A segment's bytes and what a reader must know before it has read any of them. */
export interface SealedSegment {
  readonly bytes: Uint8Array;
  readonly header: Uint8Array;
  /** Sealed blocks, the directory included, which is the last one. */
  readonly blocks: number;
  readonly directoryLength: number;
}

const codeBlockBytes = 512 * 1024;
/** Rows that codecs scan together: blocks hold a multiple, where they hold as many. */
const rowsTogether = 32;
const pageBytes = 64 * 1024;
const idBlockEntries = 4096;
/** What one piece of work holds, each a few milliseconds: multiply-adds, rows, pages, parts. */
const assignCost = 2 ** 25;
const codedTogether = 512;
const pagesTogether = 32;
const partsTogether = 16;

/**
 * Yields between pieces of work of a few milliseconds, so that whoever drives it can let others run.
 */
export function* writeSegment(
  key: KeyObject,
  context: ObjectContext,
  batch: Batch,
  encoding: Encoding,
): Generator<void, SealedSegment> {
  const sealer = new ObjectSealer(key, context);
  const parts: Uint8Array[] = [sealer.header];
  const seal = (plaintext: Uint8Array) => {
    const sealed = sealer.seal(plaintext);
    parts.push(sealed);
    return sealed.length;
  };

  const { dimension } = batch;
  const { order, runs } = yield* groupByList(batch, encoding);
  const rows = Array.from(order, (row) => batch.rows[row]);
  const codes: DirectoryDraft["codes"][number][] = [];
  const rowsPerBlock = rowsOfCodeBlock(encoding.codec);
  for (const { list, start, end } of runs) {
    for (let firstRow = start; firstRow < end; firstRow += rowsPerBlock) {
      const last = Math.min(end, firstRow + rowsPerBlock);
      const { encoded, radius } = yield* encodeBlock(batch, encoding, order.subarray(firstRow, last), list);
      const fingerprints = rows.slice(firstRow, last).map((row) => row.fingerprint);
      const plaintext = Buffer.concat([...fingerprints, encoded]);
      codes.push({ length: seal(plaintext), firstRow, rows: last - firstRow, list, radius });
      yield;
    }
  }

  const records = yield* sealPages(
    rows.map((row) => row.record),
    seal,
  );
  const contents = yield* sealPages(
    rows.map((row) => row.contents),
    seal,
  );

  const fingerprints = rows.map((row) => row.fingerprint);
  const entries = buildEntries(fingerprints, batch.deleted);
  const ids: DirectoryDraft["ids"][number][] = [];
  for (let start = 0; start < entries.length; start += idBlockEntries * entryWords) {
    const block = entries.subarray(start, start + idBlockEntries * entryWords);
    const plaintext = new Uint8Array(block.buffer, block.byteOffset, block.byteLength);
    ids.push({ length: seal(plaintext), firstWord: block[0] });
  }

  const directory = encodeDirectory({ dimension, rows: rows.length, codes, records, contents, ids });
  const directoryLength = seal(directory);
  const bytes = yield* join(parts);
  return { bytes, header: sealer.header, blocks: sealer.blocks, directoryLength };
}

/** Codes of the rows at these positions of the batch, all of `list`. */
function* encodeBlock(
  { vectors, dimension }: Batch,
  { codec, quantizer, toListSpace }: Encoding,
  positions: Uint32Array,
  list: number,
): Generator<void, { readonly encoded: Uint8Array; readonly radius: number }> {
  // An estimate may be lower than any distance within a radius, so rows that are codes alone have none.
  if (isRowCodec(codec)) {
    const { rowBytes } = codec;
    const codes = new Uint8Array(positions.length * rowBytes);
    if (vectors instanceof Float32Array) {
      for (let at = 0; at < positions.length; at += codedTogether) {
        const piece = gather(vectors, dimension, positions.subarray(at, at + codedTogether));
        const lists = new Uint32Array(piece.length / dimension).fill(list);
        codes.set(codec.encodeRows(piece, lists), at * rowBytes);
        yield;
      }
    } else {
      positions.forEach((row, at) => {
        codes.set(vectors.codes.subarray(row * rowBytes, (row + 1) * rowBytes), at * rowBytes);
      });
    }
    return { encoded: codec.pack(codes), radius: Infinity };
  }
  const gathered = gather(vectors as Float32Array, dimension, positions);
  const radius = quantizer?.radius(toListSpace(gathered), list) ?? Infinity;
  return { encoded: codec.encode(gathered, list), radius };
}

function* sealPages(
  sections: readonly (Uint8Array | null)[],
  seal: (plaintext: Uint8Array) => number,
): Generator<void, DirectoryDraft["records"][number][]> {
  const sealed: DirectoryDraft["records"][number][] = [];
  for (const { firstRow, parts } of pages(sections)) {
    sealed.push({ length: seal(encodePage(parts)), firstRow, rows: parts.length });
    if (sealed.length % pagesTogether === 0) yield;
  }
  return sealed;
}

function* join(parts: readonly Uint8Array[]): Generator<void, Uint8Array> {
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const [i, part] of parts.entries()) {
    bytes.set(part, at);
    at += part.length;
    if (i % partsTogether === partsTogether - 1) yield;
  }
  return bytes;
}

function rowsOfCodeBlock(codec: Codec): number {
  const rows = Math.floor(codeBlockBytes / (16 + codec.codeBytes(rowsTogether) / rowsTogether));
  return rows < rowsTogether ? Math.max(1, rows) : rows - (rows % rowsTogether);
}

/** Rows in the order of their lists: `order` holds positions in the batch. */
interface Grouped {
  readonly order: Uint32Array;
  /** Places `start` to `end` of the order belong to `list`. */
  readonly runs: readonly { readonly list: number; readonly start: number; readonly end: number }[];
}

function* groupByList({ rows, vectors, dimension }: Batch, encoding: Encoding): Generator<void, Grouped> {
  const order = Uint32Array.from(rows.keys());
  const { quantizer, toListSpace } = encoding;
  if (quantizer === undefined) {
    return { order, runs: rows.length === 0 ? [] : [{ list: 0, start: 0, end: rows.length }] };
  }
  const given = vectors instanceof Float32Array ? undefined : vectors.lists;
  const lists = given ?? (yield* assign(vectors as Float32Array, dimension, quantizer, toListSpace));
  order.sort((a, b) => lists[a] - lists[b] || a - b);
  const runs: { list: number; start: number; end: number }[] = [];
  order.forEach((row, place) => {
    const run = runs.at(-1);
    if (run?.list === lists[row]) run.end = place + 1;
    else runs.push({ list: lists[row], start: place, end: place + 1 });
  });
  return { order, runs };
}

function* assign(
  vectors: Float32Array,
  dimension: number,
  quantizer: CoarseQuantizer,
  toListSpace: Encoding["toListSpace"],
): Generator<void, Uint32Array> {
  const n = vectors.length / dimension;
  const lists = new Uint32Array(n);
  const piece = Math.max(1, Math.floor(assignCost / (dimension * quantizer.nLists)));
  for (let row = 0; row < n; row += piece) {
    const points = toListSpace(vectors.subarray(row * dimension, (row + piece) * dimension));
    lists.set(quantizer.assign(points), row);
    yield;
  }
  return lists;
}

/** Cuts rows into pages of at most `pageBytes`, at least one row each. */
function pages(
  sections: readonly (Uint8Array | null)[],
): { firstRow: number; parts: (Uint8Array | null)[] }[] {
  const cut: { firstRow: number; parts: (Uint8Array | null)[] }[] = [];
  let bytes = Infinity;
  sections.forEach((section, row) => {
    bytes += 4 + (section?.length ?? 0);
    if (bytes > pageBytes) {
      cut.push({ firstRow: row, parts: [] });
      bytes = 4 + (section?.length ?? 0);
    }
    cut[cut.length - 1].parts.push(section);
  });
  return cut;
}
