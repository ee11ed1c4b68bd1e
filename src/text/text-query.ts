/**
 * Parses keyword queries.
 *
 * `words` add to the score. `"a phrase"` and `+required` must be present, `-excluded` must not;
 * `prefix*` stands for all terms with this beginning. Everything else is a word or ignored: no text
 * is an error.
 */

import type { Analyzer, LocatedOccurrences } from "./analyzer.js";
import { classOf, separator, unspaced } from "./character-class.js";
import { cut, foldAccents, lowerCase } from "./stem.js";

/** The terms, each at `offset` from the position of the first one. */
export interface PhraseCondition {
  readonly kind: "phrase";
  readonly terms: readonly { readonly term: string; readonly offset: number }[];
}

/** Any term with this beginning, or `term`, the stem that the prefix would have as a word. */
export interface PrefixCondition {
  readonly kind: "prefix";
  readonly prefix: string;
  readonly term?: string;
}

/** A condition that a text meets or not. */
export type Condition = { readonly kind: "term"; readonly term: string } | PhraseCondition | PrefixCondition;

export interface ScoredTerm {
  readonly term: string;
  /** Number of occurrences in the query. */
  readonly weight: number;
}

/** At most 128 terms, 16 prefixes and 32 conditions, the first ones of a longer query. */
export interface ParsedText {
  /** Distinct terms, including those of phrases and required words. */
  readonly terms: readonly ScoredTerm[];
  /**
   * Each scores as one term with the occurrences of all matching terms: expand at most 128 of them.
   */
  readonly prefixes: readonly PrefixCondition[];
  readonly required: readonly Condition[];
  readonly excluded: readonly Condition[];
}

const termsMax = 128;
const prefixesMax = 16;
const conditionsMax = 32;
const clausesMax = 1000;

/** Takes time linear in the length of the text, and stops reading at the limits. */
export function parseTextQuery(text: string, analyzer: Analyzer): ParsedText {
  const weights = new Map<string, number>();
  const prefixes: PrefixCondition[] = [];
  const required: Condition[] = [];
  const excluded: Condition[] = [];
  let clauses = 0;
  for (const clause of clausesOf(text)) {
    if (weights.size >= termsMax || ++clauses > clausesMax) break;
    const { condition, terms } = read(clause, analyzer);
    if (condition === undefined) continue;
    const conditions = clause.sign === "-" ? excluded : required;
    const isCondition = clause.sign !== "" || clause.isPhrase;
    if (isCondition && conditions.length < conditionsMax) conditions.push(condition);
    if (clause.sign === "-") continue;
    if (condition.kind === "prefix") {
      if (prefixes.length < prefixesMax) prefixes.push(condition);
      continue;
    }
    for (const term of terms) {
      if (weights.has(term) || weights.size < termsMax) weights.set(term, (weights.get(term) ?? 0) + 1);
    }
  }
  const terms = [...weights].map(([term, weight]) => ({ term, weight }));
  return { terms, prefixes, required, excluded };
}

interface Clause {
  readonly sign: "" | "+" | "-";
  readonly text: string;
  readonly isPhrase: boolean;
  readonly isPrefix: boolean;
}

const quotes: Readonly<Record<string, string>> = { '"': '"', "\u201c": "\u201d", "\u201e": "\u201c" };

/**
 * Signs count only right before a word or phrase, quotes only in pairs; all others are separators.
 */
function* clausesOf(text: string): Generator<Clause> {
  const lastQuotes = new Map(Object.values(quotes).map((quote) => [quote, text.lastIndexOf(quote)]));
  let at = 0;
  while (at < text.length) {
    if (isSpace(text[at])) {
      at++;
      continue;
    }
    const first = text[at];
    const next = text[at + 1] ?? " ";
    const sign = (first === "+" || first === "-") && !isSpace(next) && next !== first ? first : "";
    const start = at + sign.length;
    const closing = quotes[text[start]];
    if (closing !== undefined && (lastQuotes.get(closing) ?? -1) > start) {
      const end = text.indexOf(closing, start + 1);
      yield { sign, text: text.slice(start + 1, end), isPhrase: true, isPrefix: false };
      at = end + 1;
      continue;
    }
    let end = start + 1;
    while (end < text.length && !isSpace(text[end]) && !opensPhrase(text, end)) end++;
    const isPrefix = end - start > 1 && text[end - 1] === "*";
    yield { sign, text: text.slice(start, isPrefix ? end - 1 : end), isPhrase: false, isPrefix };
    at = end;
  }
}

/** A quote after a word is a unit or an apostrophe: `12" pipes`. */
function opensPhrase(text: string, at: number): boolean {
  return quotes[text[at]] !== undefined && classOf(text.charCodeAt(at - 1)) === separator;
}

function isSpace(character: string): boolean {
  return character === " " || /\s/.test(character);
}

/** `condition` is undefined for a clause of stop words only. `terms` add to the score. */
function read(
  { text, isPrefix }: Clause,
  analyzer: Analyzer,
): { condition: Condition | undefined; terms: string[] } {
  const found = analyzer.locate(text);
  const asked = [...found.terms.keys()].filter((i) => !isRowEnd(text, found, i));
  const terms = asked.map((i) => found.terms[i]);
  const prefix = isPrefix || isLoneCharacter(text, found) ? prefixOf(text) : "";
  if (prefix !== "") {
    const term = terms.length === 1 ? { term: terms[0] } : {};
    return { condition: { kind: "prefix", prefix, ...term }, terms };
  }
  // A compound requires its parts, which are consecutive in every text that has it. `C++` requires
  // itself.
  const parts = asked.filter((i, place) => found.positions[asked[place + 1]] !== found.positions[i]);
  if (parts.length === 0) return { condition: undefined, terms };
  if (parts.length === 1) return { condition: { kind: "term", term: terms[0] }, terms };
  const base = found.positions[parts[0]];
  const phrase = parts.map((i) => ({ term: found.terms[i], offset: found.positions[i] - base }));
  return { condition: { kind: "phrase", terms: phrase.slice(0, conditionsMax) }, terms };
}

/**
 * Whether term `i` is the last character of a row of an unspaced script, which the pair before
 * contains too.
 */
function isRowEnd(text: string, { starts, ends }: LocatedOccurrences, i: number): boolean {
  return i > 0 && ends[i] === ends[i - 1] && starts[i] > starts[i - 1] && isUnspaced(text, starts[i]);
}

/**
 * A single character begins every pair and is the last character of rows: both together find all
 * texts with it.
 */
function isLoneCharacter(text: string, { terms, starts }: LocatedOccurrences): boolean {
  return terms.length === 1 && isUnspaced(text, starts[0]);
}

function isUnspaced(text: string, at: number): boolean {
  return classOf(text.codePointAt(at) ?? 0) === unspaced;
}

/** The beginning of terms with this prefix: the last word of the text as written. */
function prefixOf(text: string): string {
  let start = text.length;
  while (start > 0 && classOf(text.charCodeAt(start - 1)) !== separator) start--;
  const word = text.slice(start).replace(/^[^\p{L}\p{N}]+/u, "");
  return cut(foldAccents(lowerCase(cut(word), false)));
}
