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
  /** Number of a plain word; `noTerm` for a run with parts. */
  readonly number: number;
  readonly parts: RunParts | undefined;
}

/** Stands for "no term" among term numbers. */
export const noTerm = -1;

export interface RunParts {
  /** Numbers of the words. */
  readonly numbers: readonly number[];
  /** Position of each word relative to the run's first part. */
  readonly offsets: readonly number[];
  /** Start of each word, in code units from the beginning of the run. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Number of parts. */
  readonly width: number;
  /** Words before those of the parts: the whole run, or none. */
  readonly wholes: number;
  /** Whether a compound with this run is also a term: it is more than words. */
  readonly isIdentifier: boolean;
}

/**
 * `numberOf` returns the number of a word. `splitsElisions`: whether `l'eau` is two words,
 * as in French and Italian.
 */
export function splitRun(text: string, numberOf: (word: string) => number, splitsElisions: boolean): Run {
  const cuts = partStarts(text, splitsElisions);
  const wordOf = (start: number, end: number) => numberOf(text.slice(start, end).replaceAll(",", ""));
  const first = cuts[0].start;
  const last = cuts[cuts.length - 1].end;
  const isPlain = cuts.length === 1 && first === 0 && last === text.length && !/\p{N}/u.test(text);
  if (isPlain) return { text, number: wordOf(0, text.length), parts: undefined };

  const numbers: number[] = [];
  const offsets: number[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  const add = (offset: number, start: number, end: number) => {
    numbers.push(wordOf(start, end));
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
    wholes,
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
 * follow (`HTTPServer`, but `URLs`), between digits and two or more letters (`sha256`, but `1990s`), and between a letter and
 * digits alone (`H264`).
 */
function partStarts(text: string, splitsElisions: boolean): Part[] {
  const parts: Part[] = [];
  const { classes, starts } = charactersOf(text);
  const count = classes.length;
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
  if (kind === digit && isLetter(before)) {
    const isAfterLetters = i - first > 1 && isLetter(classes[i - 2]);
    return isAfterLetters || (i === 1 && classes.subarray(1).every((each) => each === digit));
  }
  if (before === digit && isLetter(kind)) return isLetter(classes[i + 1]);
  return false;
}

interface Characters {
  /** Class per character; commas within numbers have the class of the previous character. */
  readonly classes: Uint8Array;
  /** Start of each character in code units, and the end of the text. */
  readonly starts: Uint32Array;
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
  return { classes: classes.subarray(0, count), starts };
}
