/**
 * Writes a segment: rows grouped by inverted list, sealed in blocks that can be read one by one. FORMAT.md §4 defines the bytes.
 */

import type { ObjectContext, ParentKeys } from "../crypto/sealed-object.js";
import { rowsTogether } from "../engine/code-pieces.js";
import type { Codec } from "../engine/codec.js";
import { sortByList } from "../engine/rows.js";
import { together, type Work } from "../engine/work.js";
import { codeBlockBytesMax } from "./code-table.js";
import { type FooterDraft, encodeFooter } from "./footer.js";
import { encodeExpiries } from "./expiries.js";
import { type EncodedColumn, gatherColumns } from "./gather-columns.js";
import { buildEntries, entryWords } from "./id-table.js";
import { encodePage, encodedPageBytes } from "./page.js";
import type { Row } from "./row.js";
import type { Encoding, Grouped, RowSource } from "./row-source.js";
import { SealedParts } from "./sealed-parts.js";
import { sortedIdsOf } from "./sorted-ids.js";
import type { RowOrigin } from "./moved-terms.js";
import { encodeSecondLists } from "./encode-second-lists.js";
import { gatherResiduals } from "./gather-residuals.js";
import { encodeResiduals } from "./kept-residuals.js";
import { encodeTermIndex, type WordSource } from "./term-index.js";

/** Rows to store. Their fingerprints are distinct, and differ from the deleted ones. */
export interface Batch {
  readonly dimension: number;
  readonly rows: readonly Row[];
  /** The vectors or codes of the rows. */
  readonly source: RowSource;
  /** Fingerprints of items that this segment deletes. */
  readonly deleted: readonly Uint8Array[];
  /** Rows that are those of stored segments. Default: none. */
  readonly origins?: readonly RowOrigin[];
  /** The rows to store and their order, if known; else all rows, grouped by the encoding. */
  readonly grouped?: Grouped;
  /** Whether training learns from these rows. Default: no. */
  readonly isLearnedFrom?: boolean;
}

/** The bytes of a segment, and what a reader must know before it reads them. */
export interface SealedSegment {
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Number of sealed blocks, including the footer, which is the last one. */
  readonly blocks: number;
  readonly footerLength: number;
}

/** A query with a filter reads the sealed blocks in which rows match. Before training it reads most of them, and training all. */
const sealedListBytes = 64 * 1024;
const sealedRowsBytes = 512 * 1024;
/** Of records: a query reads a page for each of its results, or nearly. */
const recordPageBytes = 16 * 1024;
/** Of others. Contents are most of the bytes of texts, and each page takes time to seal. */
const pageBytes = 64 * 1024;
const idBlockEntries = 4096;
/** Of a row or a tombstone, apart from what it consists of: fingerprints in three places, lengths, positions. */
const entryBytes = 80;
/** Vectors whose blocks are encoded in parallel, in bytes. */
const rowsEncodedBytes = 4 * 1024 * 1024;
/** Pages and parts per piece of work of a few milliseconds. */
const pagesTogether = 4;
const partsTogether = 16;

/** Seals a segment. Yields between pieces of work of a few milliseconds. `words`: if the index holds them. */
export function* writeSegment(
  keys: ParentKeys,
  context: ObjectContext,
  batch: Batch,
  encoding: Encoding,
  words?: WordSource,
): Work<SealedSegment> {
  const { dimension } = batch;
  const { order, runs } = batch.grouped ?? (yield* groupByList(batch, encoding));
  yield;
  const rows = Array.from(order, (row) => batch.rows[row]);
  const codes: FooterDraft["codes"][number][] = [];
  const kept = new Map<number, Float32Array>();
  const rowsPerBlock = rowsOfCodeBlock(encoding);
  const blocks = runs.flatMap(({ list, start, end }) =>
    Array.from({ length: Math.ceil((end - start) / rowsPerBlock) }, (_, i) => {
      const firstRow = start + i * rowsPerBlock;
      return { list, firstRow, rows: Math.min(end - firstRow, rowsPerBlock) };
    }),
  );
  const parts = new SealedParts(keys, context, expectedBytes(batch, rows, blocks, encoding.codec));
  for (let next = 0; next < blocks.length;) {
    const group = leading(blocks, next, rowsEncodedBytes / (4 * dimension));
    next += group.length;
    const encoded = yield* together(
      group.map(({ list, firstRow, rows: count }) =>
        batch.source.encode(order.subarray(firstRow, firstRow + count), list, encoding),
      ),
    );
    yield;
    for (const [i, { list, firstRow, rows: count }] of group.entries()) {
      const fingerprints = rows.slice(firstRow, firstRow + count).map((row) => row.fingerprint);
      const length = parts.seal(Buffer.concat(fingerprints), ...encoded[i].codes);
      codes.push({ length, firstRow, rows: count, list, radius: encoded[i].radius });
      const positions = order.subarray(firstRow, firstRow + count);
      const block = { firstRow, positions, fingerprints, codes: encoded[i].codes[0] };
      if (batch.isLearnedFrom) gatherResiduals(kept, block, batch.source, encoding);
      yield* parts.pauseIfDue();
    }
    yield;
  }

  const spilled: FooterDraft["spilled"][number][] = [];
  for (const plaintext of yield* encodeSecondLists(batch.source, { order, runs }, encoding)) {
    spilled.push({ length: parts.seal(plaintext) });
  }

  const residuals: FooterDraft["residuals"][number][] = [];
  for (const plaintext of yield* encodeResiduals(kept, dimension)) {
    residuals.push({ length: parts.seal(plaintext) });
    yield* parts.pauseIfDue();
  }

  yield;
  const records = yield* sealPages(
    rows.map((row) => row.record),
    recordPageBytes,
    parts,
  );
  yield;
  const contents = yield* sealPages(
    rows.map((row) => row.contents),
    pageBytes,
    parts,
  );

  yield;
  const terms = words && (yield* sealTerms(rows, words, parts));

  yield;
  const idsInOrder = yield* sortedIdsOf(rows);
  const idPages = yield* sealPages(
    idsInOrder.map(({ entry }) => entry),
    pageBytes,
    parts,
  );
  const sortedIds = idPages.map((page) => ({ ...page, firstId: idsInOrder[page.firstRow].id }));

  yield;
  const columns = yield* sealColumns(
    rows.map((row) => row.record),
    parts,
  );

  yield;
  const expiries: FooterDraft["expiries"][number][] = [];
  for (const { plaintext, firstTime } of yield* encodeExpiries(rows)) {
    expiries.push({ length: parts.seal(plaintext), firstTime });
    yield* parts.pauseIfDue();
  }

  yield;
  const fingerprints = rows.map((row) => row.fingerprint);
  const entries = yield* buildEntries(fingerprints, batch.deleted);
  yield;
  const ids: FooterDraft["ids"][number][] = [];
  for (let start = 0; start < entries.length; start += idBlockEntries * entryWords) {
    const block = entries.subarray(start, start + idBlockEntries * entryWords);
    const plaintext = new Uint8Array(block.buffer, block.byteOffset, block.byteLength);
    ids.push({ length: parts.seal(plaintext), firstWord: block[0] });
    yield* parts.pauseIfDue();
  }

  yield;
  const footer = encodeFooter({
    dimension,
    rows: rows.length,
    codes,
    spilled,
    residuals,
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

/** About as many bytes as a segment has, or rather more: ids are stored twice, and padding is a thirtieth. */
function expectedBytes(
  { deleted }: Batch,
  rows: readonly Row[],
  blocks: readonly { readonly rows: number }[],
  codec: Codec,
): number {
  const codes = blocks.reduce((sum, block) => sum + codec.codeBytes(block.rows), 0);
  const texts = rows.reduce((sum, row) => sum + 2 * row.record.length + (row.contents?.length ?? 0), 0);
  const entries = entryBytes * (rows.length + deleted.length);
  return Math.ceil(1.1 * (codes + texts + entries)) + pageBytes;
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

function* sealPages(
  sections: readonly (Uint8Array | null)[],
  bytesMax: number,
  sealing: SealedParts,
): Work<FooterDraft["records"][number][]> {
  const sealed: FooterDraft["records"][number][] = [];
  const cut = pages(sections, bytesMax);
  yield;
  for (const { firstRow, parts } of cut) {
    sealed.push({ length: sealing.seal(encodePage(parts)), firstRow, rows: parts.length });
    if (sealed.length % pagesTogether === 0) yield;
    else yield* sealing.pauseIfDue();
  }
  return sealed;
}

function* sealTerms(
  rows: readonly Row[],
  words: WordSource,
  sealing: SealedParts,
): Work<FooterDraft["terms"]> {
  const encoded = yield* encodeTermIndex(rows, words);
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

/** Small columns of one group share a block. */
function* sealColumns(
  records: readonly Uint8Array[],
  sealing: SealedParts,
): Work<FooterDraft["columns"][number][]> {
  const sealed: FooterDraft["columns"][number][] = [];
  let held: EncodedColumn[] = [];
  let bytes = 0;
  const flush = () => {
    if (held.length === 0) return;
    const [{ firstRow, rows }] = held;
    const length = sealing.seal(encodePage(held.map((column) => column.bytes)));
    sealed.push({ length, firstRow, rows, paths: held.map(({ path }) => path) });
    [held, bytes] = [[], 0];
  };
  for (const column of gatherColumns(records)) {
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

/** At least as many as make it possible to open it as a part of a larger block, see `CodeTable`. */
function rowsOfCodeBlock({ codec, quantizer }: Encoding): number {
  const rowBytes = 16 + codec.codeBytes(rowsTogether) / rowsTogether;
  const bytes = quantizer === undefined ? sealedRowsBytes : sealedListBytes;
  const rows = Math.max(rowsTogether, Math.floor(bytes / rowBytes));
  if (rows * rowBytes > codeBlockBytesMax) return Math.max(1, Math.floor(codeBlockBytesMax / rowBytes));
  return rows - (rows % rowsTogether);
}

/** All rows of a batch, grouped by the lists of the encoding. */
export function* groupByList({ rows, source }: Batch, encoding: Encoding): Work<Grouped> {
  if (encoding.quantizer === undefined) {
    const order = Uint32Array.from(rows.keys());
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

/** Cuts rows into pages of at most `bytesMax`, at least one row each. */
function pages(
  sections: readonly (Uint8Array | null)[],
  bytesMax: number,
): { firstRow: number; parts: (Uint8Array | null)[] }[] {
  const cut: { firstRow: number; parts: (Uint8Array | null)[] }[] = [];
  let longest = 0;
  let bytes = 0;
  sections.forEach((section, row) => {
    const length = section?.length ?? 0;
    const parts = cut.at(-1)?.parts;
    longest = Math.max(longest, length);
    bytes += length;
    if (parts !== undefined && encodedPageBytes(parts.length + 1, longest, bytes) <= bytesMax) {
      parts.push(section);
      return;
    }
    cut.push({ firstRow: row, parts: [section] });
    longest = bytes = length;
  });
  return cut;
}
