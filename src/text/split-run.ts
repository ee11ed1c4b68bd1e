/**
 * A run, which is letters and digits with no break between them, to its terms: one of a plain word; of `getUserById`,
 * `ERR_ASSERTION` or `sha256` one of each part and one of the whole.
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

/** A plain word, or parts. Small, since a run is looked up for every word of every text. */
export interface Run {
  readonly text: string;
  /** The number of a plain word's term; `noTerm` of a stop word and of what has parts. */
  readonly number: number;
  readonly parts: RunParts | undefined;
}

/** In place of the number of a term. */
export const noTerm = -1;

export interface RunParts {
  /** Of the terms. */
  readonly numbers: readonly number[];
  /** Of each term, from the run's first part. */
  readonly offsets: readonly number[];
  /** Of each term, in code units from the beginning of the run. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Parts, stop words included. */
  readonly width: number;
  /** Parts that are terms. */
  readonly length: number;
  /** Whether a compound with this run is a term too: it is more than words. */
  readonly isIdentifier: boolean;
}

/** `numberOf`: of a word's term. `splitsElisions`: whether `l'eau` is two words, as in French and Italian. */
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
  // Without the underscores around it, so that `_id` is found as `id`.
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

/** At most this many parts of a run: what follows is one part, of which the beginning counts. */
const partsMax = 32;

/**
 * Parts begin after an underscore, at a capital after a small letter, at the last of several capitals if two small letters
 * follow (`HTTPServer`, but `URLs`), and between digits and two or more letters (`sha256`, but `1990s`).
 */
function partStarts(text: string, splitsElisions: boolean): Part[] {
  const parts: Part[] = [];
  let start = 0;
  const close = (end: number, next: number) => {
    if (end > start) parts.push({ start, end });
    start = next;
  };
  const classes = classesOf(text);
  for (let i = 0; i < text.length && parts.length < partsMax - 1; i++) {
    const kind = classes[i];
    if (kind === underscore) close(i, i + 1);
    else if (kind === apostrophe && splitsElisions) close(i, i + 1);
    else if (i > start && beginsPart(classes, i, start)) close(i, i);
  }
  let end = text.length;
  while (end > start && classes[end - 1] === underscore) end--;
  close(end, end);
  return parts.length > 0 ? parts : [{ start: 0, end: text.length }];
}

function beginsPart(classes: Uint8Array, i: number, start: number): boolean {
  const kind = classes[i];
  const before = classes[i - 1];
  if (kind === capital) {
    if (before === letter) return true;
    if (before === capital && classes[i + 1] === letter && classes[i + 2] === letter) return true;
  }
  if (kind === digit && before !== digit) return lettersBefore(classes, i, start) >= 2;
  if (before === digit && isLetter(kind)) return isLetter(classes[i + 1]);
  return false;
}

/** Up to 2. */
function lettersBefore(classes: Uint8Array, i: number, start: number): number {
  let count = 0;
  while (count < 2 && i - count > start && isLetter(classes[i - count - 1])) count++;
  return count;
}

/** Of each code unit; marks, commas within numbers and second halves of pairs have the class of what is before them. */
function classesOf(text: string): Uint8Array {
  const classes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i) ?? 0;
    const kind = classOf(code);
    classes[i] = (kind === mark || kind === comma) && i > 0 ? classes[i - 1] : kind;
    if (code > 0xffff) {
      classes[i + 1] = classes[i];
      i++;
    }
  }
  return classes;
}
