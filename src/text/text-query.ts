/**
 * Parses keyword queries.
 *
 * `words` add to the score. `"a phrase"` and `+required` must be present word for word, `-excluded`
 * must not; `prefix*` stands for all words with this beginning. Everything else is a word or ignored: no text
 * is an error.
 */

import type { Analyzer, LocatedOccurrences } from "./analyzer.js";
import { classOf, separator, unspaced } from "./character-class.js";
import { cut, foldAccents, lowerCase } from "./stem.js";

/** At least one word, each at `offset` from the position of the first one. */
export interface PhraseCondition {
  readonly kind: "phrase";
  readonly words: readonly { readonly word: string; readonly offset: number }[];
  /** Another way to meet it: the compound whose parts the words are, as one word. */
  readonly whole?: string;
}

/** Any word with this beginning. */
export interface PrefixCondition {
  readonly kind: "prefix";
  readonly prefix: string;
}

/** A condition that a text meets or not. */
export type Condition = PhraseCondition | PrefixCondition;

export interface ScoredTerm {
  readonly term: string;
  /** Number of occurrences in the query; a compound with hyphens counts less than its parts. */
  readonly weight: number;
}

/** At most 128 terms, 16 prefixes and 32 conditions, the first ones of a longer query. */
export interface ParsedText {
  /**
   * Distinct terms, including those of phrases and required words. Stop words are among them, as
   * words, if a phrase or the whole query has nothing else.
   */
  readonly terms: readonly ScoredTerm[];
  /**
   * Each scores as one term with the occurrences of all matching words: expand at most 128 of them.
   */
  readonly prefixes: readonly PrefixCondition[];
  readonly required: readonly Condition[];
  readonly excluded: readonly Condition[];
}

const termsMax = 128;
const prefixesMax = 16;
const conditionsMax = 32;
const clausesMax = 1000;
/** Of `sign-off` beside `sign` and `off`: with 1 the nDCG of `npm run bench -- hybrid` falls. */
const hyphenatedWeight = 0.25;

/** Takes time linear in the length of the text, and stops reading at the limits. */
export function parseTextQuery(text: string, analyzer: Analyzer): ParsedText {
  const weights = new Map<string, number>();
  const stopWords = new Map<string, number>();
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
    const hasTerms = terms.some(({ isStopWord }) => !isStopWord);
    const into = hasTerms || isCondition ? weights : stopWords;
    for (const { term, weight, isStopWord } of terms) {
      if (hasTerms && isStopWord) continue;
      if (into.has(term) || into.size < termsMax) into.set(term, (into.get(term) ?? 0) + weight);
    }
  }
  const scored = weights.size + prefixes.length > 0 ? weights : stopWords;
  const terms = Array.from(scored, ([term, weight]) => ({ term, weight }));
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

interface ReadClause {
  /** Undefined for a clause without words. */
  readonly condition: Condition | undefined;
  /** A stop word is a term in a clause, or a query, without others. */
  readonly terms: readonly (ScoredTerm & { readonly isStopWord: boolean })[];
}

function read({ text, isPrefix }: Clause, analyzer: Analyzer): ReadClause {
  const found = analyzer.locate(text);
  const asked = [...found.words.keys()].filter((i) => !isRowEnd(text, found, i));
  const terms = asked.map((i) => {
    const isHyphenated =
      found.positions[i + 1] === found.positions[i] &&
      text.slice(found.starts[i], found.ends[i]).includes("-");
    const weight = isHyphenated ? hyphenatedWeight : 1;
    return { term: found.terms[i] || found.words[i], weight, isStopWord: found.terms[i] === "" };
  });
  const prefix = isPrefix || isLoneCharacter(text, found) ? prefixOf(text) : "";
  if (prefix !== "") return { condition: { kind: "prefix", prefix }, terms };
  // A compound requires its parts, which are consecutive in every text that has it, or itself, which
  // may have other parts there: `RULE-A002` and `RULEA002`. `C++` requires itself.
  const parts = asked.filter((i, place) => found.positions[asked[place + 1]] !== found.positions[i]);
  if (parts.length === 0) return { condition: undefined, terms };
  const [first, ...others] = parts.length === 1 ? [asked[0]] : parts;
  const base = found.positions[first];
  const phrase = [first, ...others].map((i) => ({ word: found.words[i], offset: found.positions[i] - base }));
  const isWhole = others.length > 0 && found.ends[asked[0]] >= found.ends[parts[parts.length - 1]];
  const condition = { kind: "phrase", words: phrase.slice(0, conditionsMax) } as const;
  return { condition: isWhole ? { ...condition, whole: found.words[asked[0]] } : condition, terms };
}

/**
 * Whether word `i` is the last character of a row of an unspaced script, which the pair before
 * contains too.
 */
function isRowEnd(text: string, { starts, ends }: LocatedOccurrences, i: number): boolean {
  return i > 0 && ends[i] === ends[i - 1] && starts[i] > starts[i - 1] && isUnspaced(text, starts[i]);
}

/**
 * A single character begins every pair and is the last character of rows: both together find all
 * texts with it.
 */
function isLoneCharacter(text: string, { words, starts }: LocatedOccurrences): boolean {
  return words.length === 1 && isUnspaced(text, starts[0]);
}

function isUnspaced(text: string, at: number): boolean {
  return classOf(text.codePointAt(at) ?? 0) === unspaced;
}

/** The beginning of words with this prefix: the last word of the text as written. */
function prefixOf(text: string): string {
  let start = text.length;
  while (start > 0 && classOf(text.charCodeAt(start - 1)) !== separator) start--;
  const word = text.slice(start).replace(/^[^\p{L}\p{N}]+/u, "");
  return cut(foldAccents(lowerCase(cut(word), false)));
}
