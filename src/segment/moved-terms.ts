/** Reads the words of rows that move from stored segments, so that their texts need not be analyzed again. */

import { BitReader } from "../engine/bit-reader.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";
import type { SegmentReader } from "./segment-reader.js";
import { openTermPage, openTextRows } from "./term-reader.js";
import { noPlace, type TermSource } from "./term-source.js";

/** Rows of a batch that are rows of a stored segment, unchanged. */
export interface RowOrigin {
  readonly reader: SegmentReader;
  /** Where the batch has the first of them; the others follow it. */
  readonly first: number;
  /** In the segment. */
  readonly rows: readonly number[];
}

interface BatchRows {
  readonly rows: { readonly length: number };
  readonly origins?: readonly RowOrigin[];
}

/**
 * The share of a segment's rows from which on its postings are read. Below it, analyzing their texts takes less time than walking the
 * postings of all.
 */
const shareMin = 0.5;

/** Past the cache. `order`: the positions in the batch of the rows to write, as they are written. */
export async function readMovedTerms(
  { rows: { length }, origins = [] }: BatchRows,
  order: Uint32Array,
): Promise<TermSource[]> {
  if (origins.length === 0) return [];
  const placeOf = new Uint32Array(length).fill(noPlace);
  order.forEach((row, place) => {
    placeOf[row] = place;
  });
  const placesOf = new Map<SegmentReader, Uint32Array>();
  for (const { reader, first, rows } of origins) {
    const places = placesOf.get(reader) ?? new Uint32Array(reader.footer.rows).fill(noPlace);
    placesOf.set(reader, places);
    rows.forEach((row, i) => {
      places[row] = placeOf[first + i];
    });
  }
  const worthy = Array.from(placesOf).filter(([, places]) => {
    const moved = places.reduce((sum, place) => (place === noPlace ? sum : sum + 1), 0);
    return moved >= shareMin * places.length;
  });
  return Promise.all(worthy.map(([reader, places]) => readTerms(reader, places)));
}

/** All requests follow from the segment's size: in which order its terms are needed, storage does not see. */
async function readTerms(reader: SegmentReader, places: Uint32Array): Promise<TermSource> {
  const { lengths, postings, dictionary } = reader.footer;
  const plaintexts = await reader.readBlocks([...lengths, ...postings, ...dictionary]);
  const chunks: BitReader[] = [];
  const postingsEnd = lengths.length + postings.length;
  for (const chunk of plaintexts.slice(lengths.length, postingsEnd)) {
    chunks.push(new BitReader(chunk));
    await yieldIfDue();
  }
  return {
    lengths: openTextRows(reader.footer, plaintexts).lengths,
    postings: chunks,
    dictionary: dictionary.map(
      (block, i) => openTermPage(reader.footer, block, plaintexts[postingsEnd + i]).plaintext,
    ),
    places,
  };
}
