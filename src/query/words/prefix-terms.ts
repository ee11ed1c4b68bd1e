/** A prefix of a query as one term, whose occurrences are those of all terms that begin so. */

import { hasRow } from "../../state/segment/row-bits.js";
import { loadCursor, loadTextRows } from "../../state/segment/words/term-reader.js";
import { BitReader } from "../../text/bit-reader.js";
import { PostingCursor } from "../../text/posting-cursor.js";
import { type PostingList, PostingStream } from "../../text/postings.js";
import { forEachRow, type LiveTexts, type TextSegment } from "./live-texts.js";

export interface MergedPrefix {
  /** Live rows that have one of the terms. */
  readonly rows: number;
  /** Walks the merged postings of a segment; undefined if there are none. */
  cursor(number: number): PostingCursor | undefined;
}

/** A list in a stream of its own. */
interface MergedList {
  readonly list: PostingList;
  readonly chunks: readonly BitReader[];
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
    const own = rowsWithAny(frequencies);
    for (const row of own) if (segment.live === undefined || hasRow(segment.live, row)) rows++;
    const { lengths } = await loadTextRows(segment.segment.reader);
    merged.push(encode(own, frequencies, lengths));
  }
  return {
    rows,
    cursor: (number) => {
      const found = merged[number];
      const { footer } = texts.segments[number].segment.reader;
      return found && new PostingCursor(found.list, found.chunks, footer.rows);
    },
  };
}

/** How often each row has one of the terms. */
async function sumFrequencies({ segment }: TextSegment, lists: readonly PostingList[]): Promise<Uint32Array> {
  const { reader } = segment;
  const frequencies = new Uint32Array(reader.footer.rows);
  for (const list of lists) {
    const cursor = await loadCursor(reader, list);
    await forEachRow(cursor, (row) => {
      frequencies[row] += cursor.frequency;
    });
  }
  return frequencies;
}

function rowsWithAny(frequencies: Uint32Array): Uint32Array {
  let count = 0;
  for (const frequency of frequencies) if (frequency > 0) count++;
  const rows = new Uint32Array(count);
  for (let row = 0, at = 0; row < frequencies.length; row++) if (frequencies[row] > 0) rows[at++] = row;
  return rows;
}

/** As postings are stored, without positions. */
function encode(rows: Uint32Array, ofRows: Uint32Array, lengths: Uint32Array): MergedList {
  const stream = new PostingStream();
  for (const row of rows) {
    stream.addRow(row, lengths[row]);
    stream.addFrequency(ofRows[row]);
  }
  const list = stream.endList();
  return { list, chunks: stream.finish().map((chunk) => new BitReader(chunk)) };
}
