/** Reads the words of a segment, through the cache. */

import { chunkBytes, type PostingList } from "../../../text/postings.js";
import { PostingCursor } from "../../../text/posting-cursor.js";
import { expectStored } from "../../../checks/stored-json.js";
import { type CachedValue, namedKey } from "../../cache/cache-group.js";
import type { Footer, PostingBlock, TermBlock } from "../footer.js";
import { PostingChunk } from "../opened-blocks.js";
import type { SegmentReader } from "../segment-reader.js";
import { TermPage } from "./term-page.js";

/** Of all rows of a segment. */
export interface TextRows extends CachedValue {
  /** 0: the row has no term. */
  readonly lengths: Uint32Array;
  /** The first word of each fingerprint. */
  readonly ties: Uint32Array;
}

const textRowsKey = namedKey<TextRows>("text rows");

/** The lengths of the texts of all rows, if they are open. */
export function openedTextRows({ cache }: SegmentReader): TextRows | undefined {
  return cache.peek(textRowsKey);
}

export async function loadTextRows(reader: SegmentReader): Promise<TextRows> {
  const { footer } = reader;
  const read = async () => [openTextRows(footer, await reader.readBlocks(footer.lengths))];
  const [rows] = await reader.cache.load([textRowsKey], read);
  return rows;
}

/** `plaintexts`: begin with those of the blocks of lengths. */
export function openTextRows(footer: Footer, plaintexts: readonly Uint8Array[]): TextRows {
  const { rows, lengths: blocks, textSums } = footer;
  const width = textSums?.lengthBytes ?? 1;
  const lengths = new Uint32Array(rows);
  const ties = new Uint32Array(rows);
  for (const [i, { firstRow, rows: count }] of blocks.entries()) {
    const plaintext = plaintexts[i];
    expectStored(plaintext.length === (width + 4) * count, "lengths", `${count} of ${width} bytes`);
    lengths.set(integers(plaintext, 0, width, count), firstRow);
    ties.set(integers(plaintext, width * count, 4, count), firstRow);
  }
  let [texts, length] = [0, 0];
  for (const own of lengths) {
    if (own > 0) texts++;
    length += own;
  }
  const isSum = texts === (textSums?.texts ?? 0) && length === (textSums?.length ?? 0);
  expectStored(isSum, "lengths", "the sums that the footer has");
  return { lengths, ties, bytes: lengths.byteLength + ties.byteLength };
}

/** `count` integers of `width` bytes, 1, 2 or 4, from `start` on. */
function integers(plaintext: Uint8Array, start: number, width: number, count: number) {
  const bytes = plaintext.subarray(start, start + width * count);
  if (width === 1) return bytes;
  // A copy unless they lie as such integers must.
  const { buffer, byteOffset } = bytes.byteOffset % width === 0 ? bytes : new Uint8Array(bytes);
  return width === 2
    ? new Uint16Array(buffer, byteOffset, count)
    : new Uint32Array(buffer, byteOffset, count);
}

/** The postings of a term, given in UTF-8; undefined if no row of the segment has it. */
export async function findTerm(reader: SegmentReader, term: Uint8Array): Promise<PostingList | undefined> {
  const { dictionary } = reader.footer;
  const place = lastUpTo(dictionary, term);
  if (place === -1) return undefined;
  const [page] = await loadPages(reader, [dictionary[place]]);
  return page.find(term);
}

/** The terms that begin with these bytes, in UTF-8, at most `limit`. */
export async function findPrefix(
  reader: SegmentReader,
  prefix: Uint8Array,
  limit: number,
): Promise<Uint8Array[]> {
  const { dictionary } = reader.footer;
  const found: Uint8Array[] = [];
  for (let at = Math.max(0, lastUpTo(dictionary, prefix)); at < dictionary.length; at++) {
    const [page] = await loadPages(reader, [dictionary[at]]);
    for (const term of page.termsFrom(prefix)) {
      const beginsSo = Buffer.compare(term.subarray(0, prefix.length), prefix) === 0;
      if (!beginsSo || found.length === limit) return found;
      found.push(term);
    }
  }
  return found;
}

/** Walks the postings of a list whose chunks are open; undefined if they are not. */
export function openedCursor(reader: SegmentReader, list: PostingList): PostingCursor | undefined {
  const chunks: PostingChunk[] = [];
  for (const block of chunksOf(reader, list)) {
    const chunk = reader.cache.peek(block);
    if (chunk === undefined) return undefined;
    chunks.push(chunk);
  }
  return new PostingCursor(list, chunks, reader.footer.rows);
}

export async function loadCursor(reader: SegmentReader, list: PostingList): Promise<PostingCursor> {
  const blocks = chunksOf(reader, list);
  const chunks = await reader.load(blocks, (_, plaintext) => new PostingChunk(plaintext));
  return new PostingCursor(list, chunks, reader.footer.rows);
}

function loadPages(reader: SegmentReader, blocks: readonly TermBlock[]): Promise<TermPage[]> {
  return reader.load(blocks, (block, plaintext) => openTermPage(reader.footer, block, plaintext));
}

/** Throws `corrupt` unless it is that page of the dictionary. */
export function openTermPage(
  { rows, postings }: Footer,
  { firstTerm }: TermBlock,
  plaintext: Uint8Array,
): TermPage {
  return new TermPage(plaintext, { firstTerm, rows, streamBytes: chunkBytes * postings.length });
}

function chunksOf({ footer }: SegmentReader, { start, end }: PostingList): readonly PostingBlock[] {
  return footer.postings.slice(Math.floor(start / chunkBytes), Math.ceil(end / chunkBytes));
}

/** The last block whose first term is at or before `term`; -1 if all are after it. */
function lastUpTo(blocks: readonly TermBlock[], term: Uint8Array): number {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare(Buffer.from(blocks[middle].firstTerm, "utf8"), term) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
