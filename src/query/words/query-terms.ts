/** The terms of one query by words, found in a snapshot. */

import { findPrefix } from "../../state/segment/words/term-reader.js";
import { stemMark } from "../../text/stem.js";
import type { Condition, ParsedText } from "../../text/text-query.js";
import { type LiveTerm, type LiveTexts, loadTerm, openedTerm } from "./live-texts.js";
import type { Snapshot } from "../snapshot/snapshot.js";

type Prefix = Extract<Condition, { kind: "prefix" }>;

export interface FoundTerms {
  /** A term or word of the query, or a word that begins with a prefix of it. */
  term(term: string): LiveTerm;
  /** The words that a prefix of the query stands for. */
  expanded(prefix: Prefix): readonly string[];
}

/** Words that a prefix stands for, the first ones; and those that are looked at, which may be stems or of replaced rows alone. */
const expandedMax = 128;
const expandableMax = 2048;

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
    if (condition.kind !== "phrase") continue;
    for (const { word } of condition.words) names.add(word);
    if (condition.whole !== undefined) names.add(condition.whole);
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
    if (condition.kind !== "prefix" || expanded.has(condition.prefix)) continue;
    expanded.set(condition.prefix, await expand(texts, condition, find));
  }
  return {
    term: (term) => found.get(term) ?? absent,
    expanded: ({ prefix }) => expanded.get(prefix) ?? [],
  };
}

/** The first words of live rows that begin so, in the order of their bytes. */
async function expand(
  { segments }: LiveTexts,
  { prefix }: Prefix,
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
    if (!name.endsWith(stemMark) && (await find(name)).rows > 0) live.push(name);
  }
  return live;
}
