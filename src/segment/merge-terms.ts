/**
 * One index of terms made of several: dictionaries are walked next to one another, and the postings of a term, as far as their rows
 * have a place, are written in the order of these. That gives what analyzing the texts of all rows gives, byte for byte.
 */

import { endOfRows, PostingBlock, PostingCursor } from "../engine/posting-cursor.js";
import { PostingStream } from "../engine/postings.js";
import type { Work } from "../engine/work.js";
import { type EncodedTerms, termBytesMax, TermPages } from "./term-dictionary.js";
import { TermPostings } from "./term-postings.js";
import { noPlace, TermHeap, type TermSource } from "./term-source.js";

/** The words of rows, encoded. */
export interface RowTerms {
  /** Of the texts of the rows, 0 if a row has none. */
  readonly lengths: Uint32Array;
  /** The chunks of the stream. */
  readonly postings: readonly Uint8Array[];
  /** Empty if no row has a term. */
  readonly dictionary: readonly EncodedTerms[];
}

/** Positions that are read between two pauses, about, and how many of them a term takes as long as. */
const together = 2 ** 14;
const termCost = 8;

/** `rows`: how many there are to write. */
export function* mergeTerms(sources: readonly TermSource[], rows: number): Work<RowTerms> {
  const lengths = new Uint32Array(rows);
  for (const source of sources) {
    placeLengths(source, lengths);
    yield;
  }
  const heap = new TermHeap(sources);
  const cursor = PostingCursor.ofNothing();
  const block = new PostingBlock();
  const postings = new TermPostings();
  const stream = new PostingStream();
  const pages = new TermPages();
  const term = new Uint8Array(termBytesMax);
  let done = 0;
  while (!heap.isEmpty) {
    const length = heap.first.walk.copyTerm(term);
    postings.clear();
    do {
      const { walk, source } = heap.first;
      for (
        cursor.moveTo(walk, source.postings, source.places.length);
        cursor.row !== endOfRows;
        cursor.skipBlock()
      ) {
        cursor.decode();
        cursor.readBlock(block);
        done += postings.add(block, source.places);
        if (done < together) continue;
        done = 0;
        yield;
      }
      heap.next();
      done += termCost;
    } while (heap.isAt(term, length));
    if (done >= together) {
      done = 0;
      yield;
    }
    if (postings.count === 0) continue;
    while (postings.mergeRuns()) {
      if ((done += postings.count) < together) continue;
      done = 0;
      yield;
    }
    while (postings.writeSome(stream, lengths)) yield;
    pages.add(term, length, stream.endList());
  }
  return { lengths, postings: stream.finish(), dictionary: pages.finish() };
}

function placeLengths({ lengths: own, places }: TermSource, lengths: Uint32Array): void {
  for (let row = 0; row < places.length; row++) {
    if (places[row] !== noPlace) lengths[places[row]] = own[row];
  }
}
