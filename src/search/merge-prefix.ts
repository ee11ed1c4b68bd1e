/** A prefix of a query as one term, whose occurrences are those of all terms that begin so. */

import { endOfRows, PostingCursor } from "../engine/posting-cursor.js";
import { type PostingList, PostingStream } from "../engine/postings.js";
import { hasRow } from "../segment/row-bits.js";
import { loadCursor, loadTextRows } from "../segment/term-reader.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";
import type { LiveTexts, TextSegment } from "./live-texts.js";

export interface MergedPrefix {
  /** Live rows that have one of the terms. */
  readonly rows: number;
  /** Walks the merged postings of a segment; undefined if there are none. */
  cursor(number: number): PostingCursor | undefined;
}

/** A list in a stream of its own. */
interface MergedList {
  readonly list: PostingList;
  readonly chunks: readonly Uint8Array[];
}

/** `terms`: with their postings in the segments of `texts`. */
export async function mergePrefix(
  texts: LiveTexts,
  terms: readonly { readonly lists: readonly (PostingList | undefined)[] }[],
): Promise<MergedPrefix> {
  let rows = 0;
  const merged: (MergedList | undefined)[] = [];
  for (const [number, segment] of texts.segments.entries()) {
    const lists = terms.flatMap(({ lists: own }) => own[number] ?? []);
    if (lists.length === 0) {
      merged.push(undefined);
      continue;
    }
    const frequencies = await sumFrequencies(segment, lists);
    const own = Uint32Array.from([...frequencies.keys()].filter((row) => frequencies[row] > 0));
    for (const row of own) if (segment.live === undefined || hasRow(segment.live, row)) rows++;
    const { lengths } = await loadTextRows(segment.segment.reader);
    merged.push(encode(own, frequencies, lengths));
  }
  return {
    rows,
    cursor: (number) => {
      const found = merged[number];
      return found && new PostingCursor(found.list, found.chunks);
    },
  };
}

/** How often each row has one of the terms. */
async function sumFrequencies({ segment }: TextSegment, lists: readonly PostingList[]): Promise<Uint32Array> {
  const { reader } = segment;
  const frequencies = new Uint32Array(reader.footer.rows);
  for (const list of lists) {
    const cursor = await loadCursor(reader, list);
    for (cursor.advance(0); cursor.row !== endOfRows; cursor.advance(cursor.row + 1)) {
      frequencies[cursor.row] += cursor.frequency;
    }
    await yieldIfDue();
  }
  return frequencies;
}

/** As postings are stored, without positions. */
function encode(rows: Uint32Array, ofRows: Uint32Array, lengths: Uint32Array): MergedList {
  const none = new Uint32Array(rows.length);
  const table = {
    rows,
    frequencies: rows.map((row) => ofRows[row]),
    positionStarts: none,
    positionEnds: none,
    positions: none,
  };
  const stream = new PostingStream();
  const list = stream.add(table, lengths, 0, rows.length);
  return { list, chunks: stream.finish() };
}
