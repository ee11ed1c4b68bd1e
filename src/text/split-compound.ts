/**
 * Splits a run, which is letters and digits without a break, into terms: one for a plain word; for
 * `getUserById`, `ERR_ASSERTION` or `sha256` one per part and one for the whole.
 */

import {
  apostrophe,
  capital,
  classOf,
  comma,
  digit,
  isLetter,
  letter,
  mark,
  underscore,
} from "./character-class.js";
import { termLengthMax } from "./stem.js";

/** A plain word, or parts. Small, since every word of every text looks one up. */
export interface Run {
  readonly text: string;
  /** Number of a plain word's term; `noTerm` for a stop word or a run with parts. */
  readonly number: number;
  readonly parts: RunParts | undefined;
}

/** Stands for "no term" among term numbers. */
export const noTerm = -1;

export interface RunParts {
  /** Numbers of the terms. */
  readonly numbers: readonly number[];
  /** Position of each term relative to the run's first part. */
  readonly offsets: readonly number[];
  /** Start of each term, in code units from the beginning of the run. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Number of parts, including stop words. */
  readonly width: number;
  /** Number of parts that are terms. */
  readonly length: number;
  /** Whether a compound with this run is also a term: it is more than words. */
  readonly isIdentifier: boolean;
}

/**
 * `numberOf` returns the number of a word's term. `splitsElisions`: whether `l'eau` is two words,
 * as in French and Italian.
 */
export function splitRun(text: string, numberOf: (word: string) => number, splitsElisions: boolean): Run {
  const cuts = partStarts(text, splitsElisions);
  const termOf = (start: number, end: number) => numberOf(text.slice(start, end).replaceAll(",", ""));
  const first = cuts[0].start;
  const last = cuts[cuts.length - 1].end;
  const isPlain = cuts.length === 1 && first === 0 && last === text.length && !/\p{N}/u.test(text);
  if (isPlain) return { text, number: termOf(0, text.length), parts: undefined };

  const numbers: number[] = [];
  const offsets: number[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  const add = (offset: number, start: number, end: number) => {
    const number = termOf(start, end);
    if (number === noTerm) return;
    numbers.push(number);
    offsets.push(offset);
    starts.push(start);
    ends.push(end);
  };
  const isElision = splitsElisions && /['\u2019]/.test(text);
  // Without surrounding underscores, so that `_id` is found as `id`.
  if (cuts.length > 1 && !isElision && last - first <= termLengthMax) add(0, first, last);
  const wholes = numbers.length;
  for (const [i, { start, end }] of cuts.entries()) add(i, start, end);
  const parts = {
    numbers,
    offsets,
    starts,
    ends,
    width: cuts.length,
    length: numbers.length - wholes,
    isIdentifier: !isElision,
  };
  return { text, number: noTerm, parts };
}

interface Part {
  readonly start: number;
  readonly end: number;
}

/** Most parts of a run. The rest is one part, of which only the beginning counts. */
const partsMax = 32;

/**
 * Parts begin after an underscore, at a capital after a small letter, at the last of several capitals if two small letters
 * follow (`HTTPServer`, but `URLs`), and between digits and two or more letters (`sha256`, but `1990s`).
 */
function partStarts(text: string, splitsElisions: boolean): Part[] {
  const parts: Part[] = [];
  const { classes, starts, count } = charactersOf(text);
  let first = 0;
  const close = (end: number, next: number) => {
    if (end > first) parts.push({ start: starts[first], end: starts[end] });
    first = next;
  };
  for (let i = 0; i < count && parts.length < partsMax - 1; i++) {
    const kind = classes[i];
    if (kind === underscore) close(i, i + 1);
    else if (kind === apostrophe && splitsElisions) close(i, i + 1);
    else if (i > first && beginsPart(classes, i, first)) close(i, i);
  }
  let end = count;
  while (end > first && classes[end - 1] === underscore) end--;
  close(end, end);
  return parts.length > 0 ? parts : [{ start: 0, end: text.length }];
}

function beginsPart(classes: Uint8Array, i: number, first: number): boolean {
  const kind = classes[i];
  const before = classes[i - 1];
  if (kind === capital) {
    if (before === letter) return true;
    if (before === capital && classes[i + 1] === letter && classes[i + 2] === letter) return true;
  }
  if (kind === digit && before !== digit) return lettersBefore(classes, i, first) >= 2;
  if (before === digit && isLetter(kind)) return isLetter(classes[i + 1]);
  return false;
}

/** At most 2. */
function lettersBefore(classes: Uint8Array, i: number, first: number): number {
  let count = 0;
  while (count < 2 && i - count > first && isLetter(classes[i - count - 1])) count++;
  return count;
}

interface Characters {
  /** Class per character; commas within numbers have the class of the previous character. */
  readonly classes: Uint8Array;
  /** Start of each character in code units, and the end of the text. */
  readonly starts: Uint32Array;
  readonly count: number;
}

/** Characters with their marks, so that composed and decomposed accents count alike. */
function charactersOf(text: string): Characters {
  const classes = new Uint8Array(text.length + 1);
  const starts = new Uint32Array(text.length + 1);
  let count = 0;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at) ?? 0;
    const kind = classOf(code);
    if (kind !== mark || count === 0) {
      classes[count] = kind === comma && count > 0 ? classes[count - 1] : kind;
      starts[count++] = at;
    }
    at += code > 0xffff ? 2 : 1;
  }
  starts[count] = text.length;
  return { classes, starts, count };
}
