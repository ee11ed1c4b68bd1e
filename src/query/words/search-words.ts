/**
 * Queries by words: BM25 over the live rows of one snapshot. Sums and document frequencies are those of live rows, whatever
 * older versions of them are still stored, so that scores do not depend on how rows are spread over segments.
 */

import type { CompiledFilter } from "../../api/filter/compile.js";
import { yieldIfDue } from "../../async/event-loop.js";
import { enterStage } from "../../async/profile.js";
import { isPromise } from "../../checks/value-kinds.js";
import { run } from "../../engine/threads/run.js";
import { hasRow } from "../../state/segment/row-bits.js";
import {
  loadCursor,
  loadTextRows,
  openedCursor,
  openedTextRows,
  type TextRows,
} from "../../state/segment/words/term-reader.js";
import { type Bm25Parameters, inverseDocumentFrequency, lengthNorm } from "../../text/bm25.js";
import { BestRows, MaxScoreScan, type WeightedCursor } from "../../text/max-score.js";
import { PostingCursor } from "../../text/posting-cursor.js";
import type { ParsedText } from "../../text/text-query.js";
import { findMatches } from "../matches.js";
import type { OpenSegment, RowRef, Snapshot } from "../snapshot/snapshot.js";
import { type LiveTexts, loadTexts, openedTexts } from "./live-texts.js";
import { mergePrefix } from "./prefix-terms.js";
import { findTerms, type FoundTerms } from "./query-terms.js";
import { acceptedRows } from "./text-conditions.js";

export interface TextSearch {
  readonly query: ParsedText;
  readonly parameters: Bm25Parameters;
  readonly topK: number;
  /** Undefined: all items match. */
  readonly filter?: CompiledFilter | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Best first. */
export interface RankedRows {
  readonly rows: readonly RowRef[];
  readonly scores: readonly number[];
}

export interface FoundByText extends RankedRows {
  /** Whether a live row that matches the filter has all that the query requires, and nothing that it excludes. */
  allows(row: RowRef): boolean;
}

/** Rows scored between two looks at the clock. */
const rowsTogether = 2 ** 14;

/** A term of the query, or a prefix that is scored as one. */
interface Scored {
  readonly weight: number;
  /** Its postings in a segment: undefined if it has none, a promise if they have to be read first. */
  cursor(number: number): PostingCursor | Promise<PostingCursor> | undefined;
}

export async function searchText(snapshot: Snapshot, search: TextSearch): Promise<FoundByText> {
  const { query, topK, filter, parameters, signal } = search;
  if (topK === 0 || snapshot.segments.length === 0) return { rows: [], scores: [], allows: () => false };
  enterStage("choose");
  const matches = filter && (await run(findMatches(snapshot, filter, signal)));
  const texts = openedTexts(snapshot) ?? (await loadTexts(snapshot));
  const terms = await findTerms(snapshot, texts, query);
  const scored = [...scoredTerms(texts, terms, query), ...(await scoredPrefixes(texts, terms, query))];
  signal?.throwIfAborted();
  const opened = texts.segments.map((_, number) => openSegment(texts, scored, number));
  // All that is missing at once: one wait for storage, whatever the number of segments.
  const isWarm = !opened.some(isPromise);
  enterStage(isWarm ? "scan" : "read");
  const segments = isWarm ? opened : await Promise.all(opened.map(async (segment) => segment));
  enterStage("scan");
  const best = new BestRows(topK);
  const norm = lengthNorm(parameters, texts.corpus);
  const isLimited = query.required.length + query.excluded.length > 0;
  const limits = new Map<OpenSegment, Uint32Array | undefined>();
  for (const [number, open] of segments.entries()) {
    if (isPromise(open) || (open === undefined && !isLimited)) continue;
    signal?.throwIfAborted();
    const { segment } = texts.segments[number];
    const matching = matches?.rows.get(segment)?.bits;
    const accepted = await acceptedRows(query, texts, number, terms, matching);
    if (isLimited) limits.set(segment, accepted);
    if (open === undefined) continue;
    const scan = new MaxScoreScan(open.cursors, { ...open.rows, segment: number, accepted, norm }, best);
    for (let end = rowsTogether; scan.scan(end); end += rowsTogether) await yieldIfDue();
  }
  const found = best.finish();
  return {
    rows: found.map(({ segment, row }) => ({ segment: texts.segments[segment].segment, row })),
    scores: found.map(({ score }) => score),
    allows({ segment, row }) {
      const rows = limits.get(segment);
      // A segment without texts has nothing that is required, and nothing that is excluded.
      return rows === undefined ? query.required.length === 0 : hasRow(rows, row);
    },
  };
}

function scoredTerms(texts: LiveTexts, terms: FoundTerms, query: ParsedText): Scored[] {
  return query.terms.flatMap(({ term, weight }) => {
    const { rows, lists } = terms.term(term);
    if (rows === 0) return [];
    return {
      weight: weight * inverseDocumentFrequency(texts.corpus, rows),
      cursor: (number) => {
        const list = lists[number];
        const { reader } = texts.segments[number].segment;
        return list && (openedCursor(reader, list) ?? loadCursor(reader, list));
      },
    };
  });
}

async function scoredPrefixes(texts: LiveTexts, terms: FoundTerms, query: ParsedText): Promise<Scored[]> {
  const scored: Scored[] = [];
  for (const prefix of query.prefixes) {
    const expanded = terms.expanded(prefix).map((term) => terms.term(term));
    const { rows, cursor } = await mergePrefix(texts, expanded);
    if (rows > 0) scored.push({ weight: inverseDocumentFrequency(texts.corpus, rows), cursor });
  }
  return scored;
}

interface OpenTexts {
  readonly cursors: readonly WeightedCursor[];
  readonly rows: TextRows;
}

/** The input of scoring the rows of a segment: undefined if no row has a term, a promise if some of it has to be read. */
function openSegment(
  texts: LiveTexts,
  scored: readonly Scored[],
  number: number,
): OpenTexts | Promise<OpenTexts> | undefined {
  const { reader } = texts.segments[number].segment;
  const cursors = scored.flatMap(({ weight, cursor }) => {
    const own = cursor(number);
    return own === undefined ? [] : [{ weight, cursor: own }];
  });
  if (cursors.length === 0) return undefined;
  const rows = openedTextRows(reader);
  if (rows !== undefined && cursors.every(isOpen)) return { cursors, rows };
  return Promise.all([
    rows ?? loadTextRows(reader),
    Promise.all(cursors.map(async ({ weight, cursor }) => ({ weight, cursor: await cursor }))),
  ]).then(([loaded, all]) => ({ rows: loaded, cursors: all }));
}

function isOpen(each: {
  readonly weight: number;
  readonly cursor: PostingCursor | Promise<PostingCursor>;
}): each is WeightedCursor {
  return each.cursor instanceof PostingCursor;
}
