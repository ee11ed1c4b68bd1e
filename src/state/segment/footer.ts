/**
 * A segment's footer: the place and content of each of its sealed blocks. docs/internals/format.md §4.
 *
 * Blocks follow one another in the object: codes, second lists, records, contents, lengths, postings, dictionary, sorted ids, columns,
 * expiries, id table, footer. Offsets and block numbers are therefore sums and not stored.
 */

import { expectStored } from "../../checks/stored-json.js";
import { headerBytes } from "../../crypto/sealed-object.js";
import { ByteWriter } from "../../engine/byte-writer.js";
import { dimensionMax } from "../../engine/config.js";
import type { KeyOf } from "../cache/cache-group.js";
import { BlockTable, type BlockWords, EntryReader, rowWords, writeEntries } from "./block-table.js";
import type { Block, PageBlock, RowBlock } from "./block.js";
import { type CodeBlock, CodeTable, writeCodeEntries } from "./code-table.js";
import { type ColumnPage, rowsPerColumnGroup } from "./columns.js";
import type { ExpiryPage } from "./expiries.js";
import { decodeTexts, corruptFooter, type TermsText, type TextSums } from "./footer-texts.js";
import type { IdPage, PostingChunk } from "./opened-blocks.js";
import type { TermPage } from "./words/term-page.js";

/** A page of ids in the order of string comparison: of `rows` rows, from the `firstRow`-th in that order on. */
export interface SortedIdBlock extends PageBlock {
  readonly firstId: string;
  /** The first id of the next page; undefined: there is none. */
  readonly endId: string | undefined;
}

/** Metadata columns of the rows of one group. */
export interface ColumnBlock extends RowBlock, KeyOf<ColumnPage> {
  /** The paths of its columns, see `EncodedColumn`. */
  readonly paths: readonly (string | null)[];
}

/** Entries of the id table, from `firstWord` on (the first word of a fingerprint). */
export interface IdBlock extends Block, KeyOf<IdPage> {
  readonly firstWord: number;
}

/** Rows that expire, in the order of their times, the first at `firstTime`. */
export interface ExpiryBlock extends Block, KeyOf<ExpiryPage> {
  /** Milliseconds since 1970. */
  readonly firstTime: number;
}

export interface Footer {
  readonly dimension: number;
  readonly rows: number;
  readonly codes: CodeTable;
  /** Codes of the rows in their second lists; empty if there are none. See spilled-codes.ts. */
  readonly spilled: readonly Block[];
  readonly records: BlockTable<PageBlock>;
  readonly contents: BlockTable<PageBlock>;
  /** Statistics of all terms; undefined if the segment holds none, as its three sections then do. */
  readonly textSums: TextSums | undefined;
  readonly lengths: readonly RowBlock[];
  readonly postings: readonly PostingBlock[];
  readonly dictionary: readonly TermBlock[];
  readonly sortedIds: readonly SortedIdBlock[];
  readonly columns: readonly ColumnBlock[];
  readonly expiries: readonly ExpiryBlock[];
  readonly ids: readonly IdBlock[];
}

/** A chunk of the postings, see postings.ts. */
export interface PostingBlock extends Block, KeyOf<PostingChunk> {}

/** Terms from `firstTerm` on. */
export interface TermBlock extends Block, KeyOf<TermPage> {
  readonly firstTerm: string;
}

type Unplaced<B extends Block> = Omit<B, "number" | "offset">;

/** A footer in the making: each block, in the order in which the writer sealed them. */
export interface FooterDraft {
  readonly dimension: number;
  readonly rows: number;
  readonly codes: readonly Unplaced<CodeBlock>[];
  readonly spilled: readonly Unplaced<Block>[];
  readonly records: readonly Unplaced<RowBlock>[];
  readonly contents: readonly Unplaced<RowBlock>[];
  readonly terms: TermsDraft | undefined;
  readonly sortedIds: readonly Omit<Unplaced<SortedIdBlock>, "endId">[];
  readonly columns: readonly Unplaced<ColumnBlock>[];
  readonly expiries: readonly Unplaced<ExpiryBlock>[];
  readonly ids: readonly Unplaced<IdBlock>[];
}

export interface TermsDraft extends TextSums {
  readonly lengths: readonly Unplaced<RowBlock>[];
  readonly postings: readonly Unplaced<PostingBlock>[];
  readonly dictionary: readonly Unplaced<TermBlock>[];
}

const headWords = 9;

const pageWords: BlockWords<PageBlock> = { count: rowWords, make: (page) => page };

export function encodeFooter(draft: FooterDraft): Uint8Array {
  const { dimension, rows, codes, spilled, records, contents, terms } = draft;
  const { sortedIds, columns, expiries, ids } = draft;
  const texts = {
    paths: columns.map((block) => block.paths),
    firstIds: sortedIds.map((block) => block.firstId),
    ...(spilled.length > 0 && { spilled: spilled.map(({ length }) => length) }),
    ...(terms && { terms: termsText(terms) }),
    ...(expiries.length > 0 && { expiries: expiries.map(({ length, firstTime }) => [length, firstTime]) }),
  };
  const tail = Buffer.from(JSON.stringify(texts), "utf8");
  const sections = [codes, records, contents, sortedIds, columns, ids];
  const head = [dimension, rows, ...sections.map((blocks) => blocks.length), tail.length];
  const entries = new ByteWriter();
  writeCodeEntries(entries, codes);
  writeEntries(entries, records);
  writeEntries(entries, contents);
  const words = [
    ...sortedIds.flatMap(wordsOf),
    ...columns.flatMap(wordsOf),
    ...ids.flatMap((block) => [block.length, block.firstWord]),
  ];
  return Buffer.concat([bytesOf(head), entries.view(), bytesOf(words), tail]);
}

function bytesOf(words: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * words.length);
  words.forEach((word, i) => bytes.writeUInt32LE(word, 4 * i));
  return bytes;
}

function wordsOf({ length, firstRow, rows }: Unplaced<RowBlock>): number[] {
  return [length, firstRow, rows];
}

/** The segment that a footer belongs to, as the manifest describes it. */
export interface FooterOf {
  /** Of the whole object, in bytes. */
  readonly length: number;
  /** With the footer. */
  readonly blocks: number;
  readonly footerLength: number;
  readonly rows: number;
  readonly deleted: number;
}

/** `bytes` are authenticated; yet whatever they hold, this gives the footer of that segment or throws `corrupt`. */
export function decodeFooter(bytes: Uint8Array, segment: FooterOf): Footer {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = 0;
  const word = () => {
    position += 4;
    return view.getUint32(position - 4, true);
  };
  if (bytes.length < 4 * headWords) throw corruptFooter();
  const [dimension, rows, codes, records, contents, sorted, columns, ids, tailLength] = Array.from(
    { length: headWords },
    word,
  );
  const entries = new EntryReader(bytes, position);
  const codeTable = new CodeTable(entries, codes, rows, headerBytes);
  const [recordWords, contentWords] = [records, contents].map((count) => entries.words({ count, rows }));
  position = entries.at;
  const tailAt = position + 4 * (rowWords * (sorted + columns) + 2 * ids);
  if (bytes.length !== tailAt + tailLength) throw corruptFooter();
  const {
    paths,
    firstIds,
    spilled = [],
    terms,
    expiries = [],
  } = decodeTexts(bytes.subarray(tailAt), columns, sorted);
  let number = 0;
  let offset = headerBytes;
  const place = (length = word()): Block => {
    const block = { number, offset, length };
    number++;
    offset += block.length;
    return block;
  };
  const placed = <B extends RowBlock>(section: BlockTable<B>): BlockTable<B> => {
    number += section.length;
    offset = section.end;
    return section;
  };
  const pages = (words: Uint32Array): BlockTable<PageBlock> =>
    placed(new BlockTable(words, pageWords, number, offset));
  placed(codeTable);
  const rowBlock = (): RowBlock => ({ ...place(), firstRow: word(), rows: word() });
  const sortedIdBlock = (_: unknown, i: number): SortedIdBlock => ({
    ...rowBlock(),
    firstId: firstIds[i],
    endId: firstIds[i + 1],
  });
  const columnBlock = (_: unknown, i: number): ColumnBlock => ({ ...rowBlock(), paths: paths[i] });
  const idBlock = (): IdBlock => ({ ...place(), firstWord: word() });
  const footer: Footer = {
    dimension,
    rows,
    codes: codeTable,
    spilled: spilled.map((length) => place(length)),
    records: pages(recordWords),
    contents: pages(contentWords),
    textSums: terms && { texts: terms.texts, length: terms.length, lengthBytes: terms.lengthBytes },
    lengths: (terms?.lengths ?? []).map(([length, firstRow, own]) => ({
      ...place(length),
      firstRow,
      rows: own,
    })),
    postings: (terms?.postings ?? []).map((length) => place(length)),
    dictionary: (terms?.dictionary ?? []).map(([length, firstTerm]) => ({ ...place(length), firstTerm })),
    sortedIds: Array.from({ length: sorted }, sortedIdBlock),
    columns: Array.from({ length: columns }, columnBlock),
    expiries: expiries.map(([length, firstTime]) => ({ ...place(length), firstTime })),
    ids: Array.from({ length: ids }, idBlock),
  };
  const { length, blocks, footerLength } = segment;
  expectFooter(number === blocks - 1, "blocks", `${blocks - 1}, got ${number}`);
  expectFooter(offset === length - footerLength, "sealed lengths", `${length} bytes in all`);
  checkSections(footer, segment);
  return footer;
}

/** Throws `corrupt` unless each section covers the rows of the segment. */
function checkSections(footer: Footer, segment: FooterOf): void {
  const { dimension, rows, textSums, lengths, dictionary, sortedIds, columns, expiries, ids } = footer;
  expectFooter(dimension >= 1 && dimension <= dimensionMax, "dimension", `1 to ${dimensionMax}`);
  expectFooter(rows === segment.rows, "rows", `${segment.rows}, got ${rows}`);
  expectFooter((textSums?.texts ?? 0) <= rows, "terms.texts", `at most ${rows}`);
  expectFooter(lengths.length === 0 || haveAll(lengths, rows), "lengths", "all rows");
  expectFooter(haveAll(sortedIds, rows), "sorted ids", "all rows");
  expectFooter(
    columns.every(
      (block) =>
        block.firstRow % rowsPerColumnGroup === 0 &&
        block.rows === Math.min(rowsPerColumnGroup, rows - block.firstRow),
    ),
    "columns",
    `groups of ${rowsPerColumnGroup} rows`,
  );
  expectFooter(
    ids.length > 0 === rows + segment.deleted > 0,
    "id table",
    "entries for rows and tombstones alone",
  );
  expectFooter(
    ascend(ids, (a, b) => a.firstWord <= b.firstWord),
    "id table",
    "ascending fingerprints",
  );
  expectFooter(
    ascend(expiries, (a, b) => a.firstTime <= b.firstTime),
    "expiries",
    "ascending times",
  );
  expectFooter(
    ascend(sortedIds, (a, b) => a.firstId < b.firstId),
    "sorted ids",
    "ascending ids",
  );
  expectFooter(
    ascend(dictionary, (a, b) => Buffer.compare(Buffer.from(a.firstTerm), Buffer.from(b.firstTerm)) < 0),
    "dictionary",
    "ascending terms",
  );
}

/** Whether the blocks have the rows from 0 to `rows`, one after the other. */
function haveAll(blocks: readonly RowBlock[], rows: number): boolean {
  let next = 0;
  for (const block of blocks) {
    if (block.firstRow !== next || block.rows === 0) return false;
    next += block.rows;
  }
  return next === rows;
}

function ascend<B>(blocks: readonly B[], isBefore: (a: B, b: B) => boolean): boolean {
  return blocks.every((block, i) => i === 0 || isBefore(blocks[i - 1], block));
}

function expectFooter(isSo: boolean, field: string, expected: string): void {
  expectStored(isSo, `segment footer: ${field}`, expected);
}

function termsText({ texts, length, lengthBytes, lengths, postings, dictionary }: TermsDraft): TermsText {
  return {
    texts,
    length,
    lengthBytes,
    lengths: lengths.map((block) => [block.length, block.firstRow, block.rows]),
    postings: postings.map((block) => block.length),
    dictionary: dictionary.map((block) => [block.length, block.firstTerm]),
  };
}

/** All blocks but the footer's own, in the order in which they lie in the object. */
export function* blocksIn(footer: Footer): Generator<Block> {
  const { codes, spilled, records, contents, lengths, postings, dictionary } = footer;
  const { sortedIds, columns, expiries, ids } = footer;
  const words = [lengths, postings, dictionary];
  for (const section of [codes, spilled, records, contents, ...words, sortedIds, columns, expiries, ids])
    yield* section;
}

/** Memory that a footer takes, in bytes: each block is an object of a few numbers, but for pages, of which few become one. */
export function footerBytes(footer: Footer): number {
  const { codes, spilled, records, contents, lengths, postings, dictionary } = footer;
  const { columns, expiries, ids } = footer;
  const sections = [codes, spilled, lengths, postings, dictionary, columns, expiries, ids];
  const blocks = sections.reduce((sum, { length }) => sum + length, 0);
  const paths = columns.reduce((sum, block) => sum + block.paths.length, 0);
  return 128 * (blocks + paths) + codes.bytes + records.bytes + contents.bytes;
}

/** The blocks of the id table that can hold fingerprints with this first word; it may begin one and end the one before. */
export function blocksOfWord(blocks: readonly IdBlock[], word: number): IdBlock[] {
  let end = blocks.length;
  for (let low = 0; low < end;) {
    const middle = (low + end) >>> 1;
    if (blocks[middle].firstWord <= word) low = middle + 1;
    else end = middle;
  }
  const last = blocks[end - 1];
  return blocks.slice(Math.max(0, end - (last?.firstWord === word ? 2 : 1)), end);
}
