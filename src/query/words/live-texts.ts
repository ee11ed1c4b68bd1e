/** The sums of BM25 over the live rows of a snapshot: the number of texts, their lengths, and how many have a term. */

import { yieldIfDue } from "../../async/event-loop.js";
import { type CachedValue, namedKey } from "../../state/cache/cache-group.js";
import { allRows, hasRow, removeRows, rowsIn } from "../../state/segment/row-bits.js";
import { findTerm, loadCursor, loadTextRows } from "../../state/segment/words/term-reader.js";
import type { Corpus } from "../../text/bm25.js";
import { endOfRows, type PostingCursor } from "../../text/posting-cursor.js";
import type { PostingList } from "../../text/postings.js";
import type { OpenSegment, Snapshot } from "../snapshot/snapshot.js";
import { hiddenRows } from "./hidden-rows.js";

/** A segment with texts. */
export interface TextSegment {
  readonly segment: OpenSegment;
  /** Rows that no newer segment shadows, as bits; undefined: all. */
  readonly live: Uint32Array | undefined;
}

export interface LiveTexts extends CachedValue {
  /** Of the live rows that have a text. */
  readonly corpus: Corpus;
  readonly segments: readonly TextSegment[];
}

/** A term in all segments. */
export interface LiveTerm extends CachedValue {
  /** Live rows that have it. */
  readonly rows: number;
  /** Its postings in each of `LiveTexts.segments`. */
  readonly lists: readonly (PostingList | undefined)[];
}

const textsKey = namedKey<LiveTexts>("live texts");
/** Bytes of memory of a segment or a list. */
const segmentBytes = 64;
const listBytes = 96;

export function openedTexts({ cache }: Snapshot): LiveTexts | undefined {
  return cache.peek(textsKey);
}

export async function loadTexts(snapshot: Snapshot): Promise<LiveTexts> {
  const [texts] = await snapshot.cache.load([textsKey], async () => [await sumUp(snapshot)]);
  return texts;
}

export function openedTerm({ cache }: Snapshot, term: string): LiveTerm | undefined {
  return cache.peek(termKey(term));
}

export async function loadTerm(snapshot: Snapshot, texts: LiveTexts, term: string): Promise<LiveTerm> {
  const find = async () => [await findLive(texts, term)];
  const [found] = await snapshot.cache.load([termKey(term)], find);
  return found;
}

/** How many rows of a cursor are live. */
async function countLive(cursor: PostingCursor, live: Uint32Array): Promise<number> {
  let count = 0;
  await forEachRow(cursor, (row) => {
    if (hasRow(live, row)) count++;
  });
  return count;
}

function termKey(term: string) {
  return namedKey<LiveTerm>(`term ${term}`);
}

async function sumUp(snapshot: Snapshot): Promise<LiveTexts> {
  let rows = 0;
  let length = 0;
  let bytes = 0;
  const segments: TextSegment[] = [];
  for (const segment of snapshot.segments) {
    const { reader } = segment;
    const sums = reader.footer.textSums;
    if (sums === undefined) continue;
    rows += sums.texts;
    length += sums.length;
    const hidden = await hiddenRows(snapshot, segment);
    if (hidden.count === 0) {
      segments.push({ segment, live: undefined });
      continue;
    }
    const { lengths } = await loadTextRows(reader);
    const live = allRows(lengths.length);
    removeRows(live, hidden.bits);
    segments.push({ segment, live });
    bytes += live.byteLength;
    for (const row of rowsIn(hidden.bits, 0, lengths.length)) {
      length -= lengths[row];
      if (lengths[row] > 0) rows--;
    }
    await yieldIfDue();
  }
  return { corpus: { rows, length }, segments, bytes: bytes + segmentBytes * segments.length };
}

async function findLive({ segments }: LiveTexts, term: string): Promise<LiveTerm> {
  const bytes = Buffer.from(term, "utf8");
  let rows = 0;
  const lists = await Promise.all(segments.map(({ segment }) => findTerm(segment.reader, bytes)));
  for (const [i, list] of lists.entries()) {
    if (list === undefined) continue;
    const { segment, live } = segments[i];
    rows += live === undefined ? list.rows : await countLive(await loadCursor(segment.reader, list), live);
  }
  return { rows, lists, bytes: listBytes * lists.length + 2 * term.length };
}

// The rows of postings one by one, while other work of the process runs in between.

/** Rows visited between two looks at the clock. */
const together = 4096;

/** Calls `visit` with each row of a cursor that has not moved yet; the cursor stands there until it returns. */
export async function forEachRow(cursor: PostingCursor, visit: (row: number) => void): Promise<void> {
  let visited = 0;
  for (cursor.advance(0); cursor.row !== endOfRows; cursor.advance(cursor.row + 1)) {
    if (visited++ % together === 0) await yieldIfDue();
    visit(cursor.row);
  }
}
