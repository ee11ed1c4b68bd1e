/**
 * Writes a segment: rows grouped by inverted list, sealed in blocks that can be read one by one. docs/internals/format.md §4 defines the bytes.
 */

import type { ObjectContext, ParentKeys } from "../../crypto/sealed-object.js";
import { rowsTogether } from "../../engine/codes/code-sections.js";
import type { Codec } from "../../engine/codes/codec.js";
import { sortByList } from "../../engine/rows.js";
import { together, type Work } from "../../engine/work.js";
import { type FooterDraft, encodeFooter } from "./footer.js";
import { encodeExpiries } from "./expiries.js";
import { type EncodedColumn, gatherColumns } from "./column-writer.js";
import { buildEntries, entryWords } from "./id-table.js";
import type { RowTexts } from "./words/gather-terms.js";
import { encodedPageBytes, encodePage } from "./page.js";
import { type Rows, rowsAt } from "./row.js";
import type { Encoding, Grouped, RowSource } from "./row-source.js";
import { SealedParts } from "./sealed-parts.js";
import { sortedIdsOf } from "./sorted-ids.js";
import { encodeSecondLists } from "./second-lists.js";
import { encodeTermIndex } from "./words/term-index.js";

/** Rows to store. Their fingerprints are distinct, and differ from the deleted ones. */
export interface Batch {
  readonly dimension: number;
  readonly rows: Rows;
  /** The vectors or codes of the rows. */
  readonly source: RowSource;
  /** Fingerprints of items that this segment deletes. */
  readonly deleted: readonly Uint8Array[];
  /** The rows to store and their order, if known; else all rows, grouped by the encoding. */
  readonly grouped?: Grouped;
}

/** The bytes of a segment, and their description in a manifest. */
export interface SealedSegment {
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Number of sealed blocks, including the footer, which is the last one. */
  readonly blocks: number;
  readonly footerLength: number;
}

/** Of codes: a query with a filter reads the blocks in which rows match, and scanning takes less time in larger ones. */
const codeBlockBytes = 128 * 1024;
/** Of records: a query reads a page for each of its results, or nearly. */
const recordPageBytes = 16 * 1024;
/** Of others. Contents are most of the bytes of texts, and each page takes time to seal. */
const pageBytes = 64 * 1024;
const idBlockEntries = 4096;
/** Of a row or a tombstone, besides its content: fingerprints in three places, lengths, positions. */
const entryBytes = 80;
/** Vectors whose blocks are encoded in parallel, in bytes. */
const rowsEncodedBytes = 2 * 1024 * 1024;
/** Rows that are looked at between two pauses: each is somewhere else in memory. */
const rowsVisited = 4096;
/** Pages and parts per piece of work of a few milliseconds. */
const pagesTogether = 4;
const partsTogether = 16;

/** Seals a segment. Yields between pieces of work of a few milliseconds. `texts`: if the index holds words. */
export function* writeSegment(
  keys: ParentKeys,
  context: ObjectContext,
  batch: Batch,
  encoding: Encoding,
  texts?: RowTexts,
): Work<SealedSegment> {
  const { order, runs } = batch.grouped ?? (yield* groupByList(batch, encoding));
  yield;
  const rows = rowsAt(batch.rows, order);
  const blocks = cutRuns(runs, rowsOfCodeBlock(encoding));
  yield;
  const { fingerprints, rowBytes } = yield* survey(rows);
  const parts = new SealedParts(keys, context, expectedBytes(batch, rowBytes, blocks, encoding.codec));
  yield;
  // In the order in which readers expect them.
  const codes = yield* sealCodes(batch, { order, blocks, fingerprints }, encoding, parts);
  const spilled = yield* sealSecondLists(batch.source, { order, runs }, encoding, parts);
  yield;
  const records = yield* sealPages(rows.length, (i) => rows.at(i).record, recordPageBytes, parts);
  yield;
  const contents = yield* sealPages(rows.length, (i) => rows.at(i).contents, pageBytes, parts);
  yield;
  const terms = texts && (yield* sealTerms(rows, texts, parts));
  yield;
  const sortedIds = yield* sealSortedIds(rows, fingerprints, parts);
  yield;
  const columns = yield* sealColumns(rows, parts);
  yield;
  const expiries = yield* sealExpiries(rows, parts);
  yield;
  const ids = yield* sealIdTable(fingerprints, batch.deleted, parts);
  yield;
  const footer = encodeFooter({
    dimension: batch.dimension,
    rows: rows.length,
    codes,
    spilled,
    records,
    contents,
    terms,
    sortedIds,
    columns,
    expiries,
    ids,
  });
  const footerLength = parts.seal(footer);
  const bytes = yield* parts.join();
  return { bytes, rows: rows.length, blocks: parts.blocks, footerLength };
}

/** Rows of a list that are sealed in one block. */
interface WrittenRows {
  readonly list: number;
  readonly firstRow: number;
  readonly rows: number;
}

function cutRuns(runs: Grouped["runs"], rowsMax: number): WrittenRows[] {
  const blocks: WrittenRows[] = [];
  for (const { list, start, end } of runs) {
    for (let firstRow = start; firstRow < end; firstRow += rowsMax) {
      blocks.push({ list, firstRow, rows: Math.min(end - firstRow, rowsMax) });
    }
  }
  return blocks;
}

/** The fingerprints of all rows, layout (rows, 4) words, and about how many bytes rows take besides their codes: ids are stored twice. */
function* survey(rows: Rows): Work<{ fingerprints: Uint32Array; rowBytes: number }> {
  const fingerprints = new Uint32Array(4 * rows.length);
  const bytes = bytesOf(fingerprints);
  let rowBytes = 0;
  for (let i = 0; i < rows.length; i++) {
    const { fingerprint, record, contents } = rows.at(i);
    bytes.set(fingerprint, 16 * i);
    rowBytes += entryBytes + 2 * record.length + (contents?.length ?? 0);
    if (i % rowsVisited === rowsVisited - 1) yield;
  }
  return { fingerprints, rowBytes };
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** About as many bytes as a segment has, or rather more: padding is a thirtieth. */
function expectedBytes(
  { deleted }: Batch,
  rowBytes: number,
  blocks: readonly WrittenRows[],
  codec: Codec,
): number {
  const codes = blocks.reduce((sum, block) => sum + codec.codeBytes(block.rows), 0);
  return Math.ceil(1.1 * (codes + rowBytes + entryBytes * deleted.length)) + pageBytes;
}

/** One or more blocks from `first` on, of about `rowsMax` rows in total. */
function leading<B extends { readonly rows: number }>(
  blocks: readonly B[],
  first: number,
  rowsMax: number,
): readonly B[] {
  let end = first;
  for (let rows = 0; end < blocks.length && (end === first || rows + blocks[end].rows <= rowsMax); end++) {
    rows += blocks[end].rows;
  }
  return blocks.slice(first, end);
}

/** Fingerprints and codes of the rows of each block. Blocks of a few megabytes of vectors are encoded in parallel. */
function* sealCodes(
  { dimension, source }: Batch,
  written: {
    readonly order: Uint32Array;
    readonly blocks: readonly WrittenRows[];
    readonly fingerprints: Uint32Array;
  },
  encoding: Encoding,
  sealing: SealedParts,
): Work<FooterDraft["codes"]> {
  const { order, blocks, fingerprints } = written;
  const sealed: FooterDraft["codes"][number][] = [];
  for (let next = 0; next < blocks.length;) {
    const group = leading(blocks, next, rowsEncodedBytes / (4 * dimension));
    next += group.length;
    const encoded = yield* together(
      group.map(({ list, firstRow, rows }) =>
        source.encode(order.subarray(firstRow, firstRow + rows), list, encoding),
      ),
    );
    yield;
    for (const [i, { list, firstRow, rows }] of group.entries()) {
      const own = fingerprints.subarray(4 * firstRow, 4 * (firstRow + rows));
      const length = sealing.seal(bytesOf(own), ...encoded[i].codes);
      sealed.push({ length, firstRow, rows, list, radius: encoded[i].radius });
      yield* sealing.pauseIfDue();
    }
    yield;
  }
  return sealed;
}

function* sealSecondLists(
  source: RowSource,
  grouped: Grouped,
  encoding: Encoding,
  sealing: SealedParts,
): Work<FooterDraft["spilled"]> {
  const blocks = yield* encodeSecondLists(source, grouped, encoding);
  return blocks.map((plaintext) => ({ length: sealing.seal(plaintext) }));
}

/** Seals entries of n rows in pages of at most `bytesMax`, at least one entry each. */
function* sealPages(
  n: number,
  entryOf: (row: number) => Uint8Array | null,
  bytesMax: number,
  sealing: SealedParts,
): Work<FooterDraft["records"][number][]> {
  const sealed: FooterDraft["records"][number][] = [];
  let page: (Uint8Array | null)[] = [];
  let longest = 0;
  let bytes = 0;
  const sealPage = (endRow: number) => {
    sealed.push({
      length: sealing.seal(encodePage(page)),
      firstRow: endRow - page.length,
      rows: page.length,
    });
    page = [];
    longest = bytes = 0;
  };
  for (let row = 0; row < n; row++) {
    const entry = entryOf(row);
    const length = entry?.length ?? 0;
    const needed = encodedPageBytes(page.length + 1, Math.max(longest, length), bytes + length);
    if (page.length > 0 && needed > bytesMax) {
      sealPage(row);
      if (sealed.length % pagesTogether === 0) yield;
      else yield* sealing.pauseIfDue();
    }
    page.push(entry);
    longest = Math.max(longest, length);
    bytes += length;
    if (row % rowsVisited === rowsVisited - 1) yield;
  }
  if (page.length > 0) sealPage(n);
  return sealed;
}

function* sealTerms(rows: Rows, rowTexts: RowTexts, sealing: SealedParts): Work<FooterDraft["terms"]> {
  const encoded = yield* encodeTermIndex(rows, rowTexts);
  if (encoded === undefined) return undefined;
  const { texts, length, lengthBytes } = encoded;
  const lengths = encoded.lengths.map(({ plaintext, firstRow, rows: count }) => ({
    length: sealing.seal(plaintext),
    firstRow,
    rows: count,
  }));
  yield;
  const postings: { length: number }[] = [];
  for (const chunk of encoded.postings) {
    postings.push({ length: sealing.seal(chunk) });
    if (postings.length % partsTogether === 0) yield;
  }
  const dictionary: { length: number; firstTerm: string }[] = [];
  for (const { plaintext, firstTerm } of encoded.dictionary) {
    dictionary.push({ length: sealing.seal(plaintext), firstTerm });
    if (dictionary.length % partsTogether === 0) yield;
  }
  return { texts, length, lengthBytes, lengths, postings, dictionary };
}

function* sealSortedIds(
  rows: Rows,
  fingerprints: Uint32Array,
  sealing: SealedParts,
): Work<FooterDraft["sortedIds"]> {
  const { ids, entry } = yield* sortedIdsOf(rows, fingerprints);
  const pages = yield* sealPages(rows.length, entry, pageBytes, sealing);
  return pages.map((page) => ({ ...page, firstId: ids[page.firstRow] }));
}

/** Small columns of one group share a block. */
function* sealColumns(rows: Rows, sealing: SealedParts): Work<FooterDraft["columns"][number][]> {
  const sealed: FooterDraft["columns"][number][] = [];
  let held: EncodedColumn[] = [];
  let bytes = 0;
  const flush = () => {
    if (held.length === 0) return;
    const [{ firstRow, rows: count }] = held;
    const length = sealing.seal(encodePage(held.map((column) => column.bytes)));
    sealed.push({ length, firstRow, rows: count, paths: held.map(({ path }) => path) });
    [held, bytes] = [[], 0];
  };
  for (const column of gatherColumns(rows)) {
    if (column === undefined) {
      yield;
      continue;
    }
    if (bytes + column.bytes.length > pageBytes || column.firstRow !== held[0]?.firstRow) {
      flush();
      yield;
    }
    held.push(column);
    bytes += column.bytes.length;
  }
  flush();
  return sealed;
}

function* sealExpiries(rows: Rows, sealing: SealedParts): Work<FooterDraft["expiries"]> {
  const sealed: FooterDraft["expiries"][number][] = [];
  for (const { plaintext, firstTime } of yield* encodeExpiries(rows)) {
    sealed.push({ length: sealing.seal(plaintext), firstTime });
    yield* sealing.pauseIfDue();
  }
  return sealed;
}

/** The fingerprints of rows and deleted items, in order. */
function* sealIdTable(
  fingerprints: Uint32Array,
  deleted: Batch["deleted"],
  sealing: SealedParts,
): Work<FooterDraft["ids"]> {
  const entries = yield* buildEntries(fingerprints, deleted);
  yield;
  const sealed: FooterDraft["ids"][number][] = [];
  for (let start = 0; start < entries.length; start += idBlockEntries * entryWords) {
    const block = entries.subarray(start, start + idBlockEntries * entryWords);
    sealed.push({ length: sealing.seal(bytesOf(block)), firstWord: block[0] });
    yield* sealing.pauseIfDue();
  }
  return sealed;
}

/** A multiple of the rows that kernels scan together. */
function rowsOfCodeBlock({ codec }: Encoding): number {
  const bytes = 16 * rowsTogether + codec.codeBytes(rowsTogether);
  return rowsTogether * Math.max(1, Math.floor(codeBlockBytes / bytes));
}

/** All rows of a batch, grouped by the lists of the encoding. */
export function* groupByList({ rows, source }: Batch, encoding: Encoding): Work<Grouped> {
  if (encoding.quantizer === undefined) {
    const order = new Uint32Array(rows.length).map((_, row) => row);
    return { order, runs: rows.length === 0 ? [] : [{ list: 0, start: 0, end: rows.length }] };
  }
  const lists = yield* source.listsOf(encoding.quantizer);
  const order = sortByList(lists, encoding.quantizer.nLists);
  const runs: { list: number; start: number; end: number }[] = [];
  order.forEach((row, place) => {
    const run = runs.at(-1);
    if (run?.list === lists[row]) run.end = place + 1;
    else runs.push({ list: lists[row], start: place, end: place + 1 });
  });
  return { order, runs };
}
