/** Which rows of a segment have a term, a phrase or a prefix that a query by words requires or excludes. */

import { yieldIfDue } from "../../async/event-loop.js";
import { addRow, allRows, keepRows, noRows, removeRows } from "../../state/segment/row-bits.js";
import { loadCursor } from "../../state/segment/words/term-reader.js";
import { endOfRows, type PostingCursor } from "../../text/posting-cursor.js";
import type { Condition, ParsedText } from "../../text/text-query.js";
import { forEachRow, type LiveTexts } from "./live-texts.js";
import type { FoundTerms } from "./query-terms.js";

/** The rows of segment `number` that a query may find, as bits, of those that match its filter; undefined: all. */
export async function acceptedRows(
  { required, excluded }: ParsedText,
  texts: LiveTexts,
  number: number,
  terms: FoundTerms,
  matching: Uint32Array | undefined,
): Promise<Uint32Array | undefined> {
  const { live, segment } = texts.segments[number];
  if (required.length + excluded.length === 0 && (live === undefined || matching === undefined)) {
    return live ?? matching;
  }
  const bits = live?.slice() ?? allRows(segment.reader.footer.rows);
  if (matching !== undefined) keepRows(bits, matching);
  for (const condition of required) keepRows(bits, await rowsThatMeet(condition, texts, number, terms));
  for (const condition of excluded) removeRows(bits, await rowsThatMeet(condition, texts, number, terms));
  return bits;
}

/** The rows of segment `number` that meet the condition, as bits. */
async function rowsThatMeet(
  condition: Condition,
  texts: LiveTexts,
  number: number,
  terms: FoundTerms,
): Promise<Uint32Array> {
  const { reader } = texts.segments[number].segment;
  const bits = noRows(reader.footer.rows);
  const cursorOf = async (word: string) => {
    const list = terms.term(word).lists[number];
    return list && (await loadCursor(reader, list));
  };
  for (const word of wordsThatMeet(condition, terms)) {
    const cursor = await cursorOf(word);
    if (cursor !== undefined) await forEachRow(cursor, (row) => addRow(bits, row));
  }
  if (condition.kind === "prefix" || condition.words.length === 1) return bits;
  const cursors: PostingCursor[] = [];
  for (const { word } of condition.words) {
    const cursor = await cursorOf(word);
    if (cursor === undefined) return bits;
    cursors.push(cursor);
  }
  const offsets = condition.words.map(({ offset }) => offset);
  for (let row = commonRow(cursors, 0); row !== endOfRows; row = commonRow(cursors, row + 1)) {
    await yieldIfDue();
    if (isPhrase(cursors, offsets)) addRow(bits, row);
  }
  return bits;
}

/** Words each of which meets the condition alone. */
function wordsThatMeet(condition: Condition, terms: FoundTerms): readonly string[] {
  if (condition.kind === "prefix") return terms.expanded(condition);
  const { words, whole } = condition;
  return words.length === 1 ? [words[0].word] : whole === undefined ? [] : [whole];
}

/** The first row from `from` on that all cursors have, and go to. */
function commonRow(cursors: readonly PostingCursor[], from: number): number {
  let row = from;
  for (let agreeing = 0; agreeing < cursors.length;) {
    agreeing = 0;
    for (const cursor of cursors) {
      cursor.advance(row);
      if (cursor.row === row) agreeing++;
      else {
        row = cursor.row;
        break;
      }
    }
    if (row === endOfRows) return row;
  }
  return row;
}

/** Whether the terms are at their offsets from some position in the present row. */
function isPhrase(cursors: readonly PostingCursor[], offsets: readonly number[]): boolean {
  const [first, ...others] = cursors.map(
    (cursor, i) => new Set(Array.from(cursor.positions(), (position) => position - offsets[i])),
  );
  return [...first].some((start) => others.every((starts) => starts.has(start)));
}
