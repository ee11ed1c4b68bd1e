/** The terms of one query by words, found in a snapshot. */

import { findPrefix } from "../../state/segment/words/term-reader.js";
import type { Condition, ParsedText } from "../../text/text-query.js";
import { type LiveTerm, type LiveTexts, loadTerm, openedTerm } from "./live-texts.js";
import type { Snapshot } from "../snapshot/snapshot.js";

type Prefix = Extract<Condition, { kind: "prefix" }>;

export interface FoundTerms {
  /** A term of the query, or one that begins with a prefix of it. */
  term(term: string): LiveTerm;
  /** The terms that a prefix of the query stands for. */
  expanded(prefix: Prefix): readonly string[];
}

/** Terms that a prefix stands for, the first ones; and those that are looked at, which may be of replaced rows alone. */
const expandedMax = 128;
const expandableMax = 1024;

const absent: LiveTerm = { rows: 0, lists: [], bytes: 0 };

export async function findTerms(
  snapshot: Snapshot,
  texts: LiveTexts,
  query: ParsedText,
): Promise<FoundTerms> {
  const { terms, prefixes, required, excluded } = query;
  const conditions = [...prefixes, ...required, ...excluded];
  const names = new Set(terms.map(({ term }) => term));
  for (const condition of conditions) {
    if (condition.kind === "term") names.add(condition.term);
    if (condition.kind === "phrase") for (const { term } of condition.terms) names.add(term);
  }
  const found = new Map<string, LiveTerm>();
  const find = async (term: string) => {
    const live = openedTerm(snapshot, term) ?? (await loadTerm(snapshot, texts, term));
    found.set(term, live);
    return live;
  };
  const missing: string[] = [];
  for (const name of names) {
    const opened = openedTerm(snapshot, name);
    if (opened === undefined) missing.push(name);
    else found.set(name, opened);
  }
  if (missing.length > 0) await Promise.all(missing.map(find));
  const expanded = new Map<string, readonly string[]>();
  for (const condition of conditions) {
    if (condition.kind !== "prefix" || expanded.has(keyOf(condition))) continue;
    expanded.set(keyOf(condition), await expand(texts, condition, find));
  }
  return {
    term: (term) => found.get(term) ?? absent,
    expanded: (prefix) => expanded.get(keyOf(prefix)) ?? [],
  };
}

/** A prefix with a term of its own expands differently from one without. */
function keyOf({ prefix, term }: Prefix): string {
  return JSON.stringify([prefix, term]);
}

/** The first terms of live rows that begin so, in the order of their bytes, and the prefix's own term. */
async function expand(
  { segments }: LiveTexts,
  { prefix, term }: Prefix,
  find: (term: string) => Promise<LiveTerm>,
): Promise<string[]> {
  const bytes = Buffer.from(prefix, "utf8");
  const found = await Promise.all(
    segments.map(({ segment }) => findPrefix(segment.reader, bytes, expandableMax)),
  );
  const sorted = found.flat().sort((a, b) => Buffer.compare(a, b));
  const names = new Set(sorted.map((each) => Buffer.from(each).toString("utf8")));
  const live: string[] = [];
  for (const name of names) {
    if (live.length === expandedMax) break;
    if (name !== term && (await find(name)).rows > 0) live.push(name);
  }
  if (term !== undefined && (await find(term)).rows > 0) live.push(term);
  return live;
}
