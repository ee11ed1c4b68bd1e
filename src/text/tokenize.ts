/** One pass over a text, at once or in pieces. */

import {
  apostrophe,
  capital,
  classOf,
  comma,
  digit,
  isLetter,
  joiner,
  letter,
  mark,
  separator,
  underscore,
  unspaced,
} from "./character-class.js";
import { noTerm, type Run } from "./split-compound.js";
import { termLengthMax } from "./stem.js";
import { notPlain, type Vocabulary } from "./vocabulary.js";

/** Most joiners in a row that still join: `://`. */
const joinersMax = 3;
const space = 0x20;
const plus = 0x2b;
const numberSign = 0x23;
const asciiClasses = Uint8Array.from({ length: 0x80 }, (_, code) => classOf(code));

/** Results are in its properties; see `Scanning`. */
export class Scan {
  readonly numbers: number[] = [];
  readonly positions: number[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  length = 0;
  readonly #text: string;
  readonly #vocabulary: Vocabulary;
  readonly #locates: boolean;
  #at = 0;
  #position = 0;
  #hash = 0;
  /** The next run of a compound that is too long to be a term and whose earlier runs were added. */
  #joined = -1;

  /** `locates`: whether to fill `starts` and `ends`. */
  constructor(text: string, vocabulary: Vocabulary, locates: boolean) {
    this.#text = text;
    this.#vocabulary = vocabulary;
    this.#locates = locates;
  }

  get words(): string[] {
    return this.numbers.map((number) => this.#vocabulary.text(number));
  }

  get terms(): string[] {
    return this.numbers.map((number) => {
      const term = this.#vocabulary.termOf(number);
      return term === noTerm ? "" : this.#vocabulary.text(term);
    });
  }

  /** Scans about this many more code units. Returns true at the end of the text. */
  advance(units: number): boolean {
    const until = Math.min(this.#text.length, this.#at + units);
    while (this.#at < until) {
      const at = this.#at;
      const unit = this.#text.charCodeAt(at);
      if (unit === space) {
        this.#at++;
        continue;
      }
      if (isAsciiLetter(unit) && this.#plainWord(at)) continue;
      const kind = this.#classAt(at);
      if (startsRun(kind)) this.#at = this.#compound(at, until);
      else if (kind === unspaced) this.#at = this.#row(at, until);
      else this.#at += this.#widthAt(at);
    }
    return this.#at === this.#text.length;
  }

  /**
   * Scans a plain word of at most 12 ASCII letters without a joiner after it, the most frequent
   * case. Returns false if there is none.
   */
  #plainWord(start: number): boolean {
    const text = this.#text;
    const { length } = text;
    let a = 0;
    let b = 0;
    let c = 0;
    let at = start;
    let unit = text.charCodeAt(at);
    for (let i = 0; i < 4 && isAsciiLetter(unit); i++) {
      a = (a << 8) | unit;
      unit = ++at < length ? text.charCodeAt(at) : space;
    }
    for (let i = 0; i < 4 && isAsciiLetter(unit); i++) {
      b = (b << 8) | unit;
      unit = ++at < length ? text.charCodeAt(at) : space;
    }
    for (let i = 0; i < 4 && isAsciiLetter(unit); i++) {
      c = (c << 8) | unit;
      unit = ++at < length ? text.charCodeAt(at) : space;
    }
    if (unit !== space && !this.#endsWord(at)) return false;
    const { words } = this.#vocabulary;
    const number = words.get(a, b, c) ?? this.#vocabulary.addWord(text.slice(start, at), a, b, c);
    if (number === notPlain) return false;
    this.#addWord(number, start, at);
    this.#at = at;
    return true;
  }

  /**
   * Whether the next characters certainly neither belong to the run of letters nor join it with
   * another.
   */
  #endsWord(at: number): boolean {
    if (at === this.#text.length) return true;
    const unit = this.#text.charCodeAt(at);
    if (unit >= 0x80) return false;
    const kind = asciiClasses[unit];
    if (kind === separator || kind === comma) return true;
    // The end of a sentence, `word. `; `C++` and `F#` are names.
    if (kind !== joiner || unit === plus || unit === numberSign) return false;
    const next = at + 1 < this.#text.length ? this.#text.charCodeAt(at + 1) : space;
    return next < 0x80 && asciiClasses[next] === separator;
  }

  /**
   * Scans a run, or several with joiners between them. Returns its end, or the next run of a long
   * one that continues beyond `until`.
   */
  #compound(start: number, until: number): number {
    let end = this.#runEnd(start);
    let next = this.#nextRun(end);
    const first = this.#vocabulary.runOf(this.#text, start, end, this.#hash);
    if (next === end && this.#suffixAt(end) === 0) {
      this.#addRun(first, start);
      return end;
    }

    const runs = [first];
    const runStarts = [start];
    let isTerm = start !== this.#joined;
    let isPlain = first.parts?.isIdentifier !== true;
    let isHyphenated = true;
    while (next > end) {
      isTerm &&= end - start <= termLengthMax;
      if (!isTerm && end >= until) break;
      const joiners = this.#text.slice(end, next);
      isPlain &&= joiners === "-" || joiners === "/";
      isHyphenated &&= joiners === "-";
      runStarts.push(next);
      end = this.#runEnd(next);
      const run = this.#vocabulary.runOf(this.#text, next, end, this.#hash);
      isPlain &&= run.parts?.isIdentifier !== true;
      runs.push(run);
      next = this.#nextRun(end);
    }
    const goesOn = next > end;
    const suffix = goesOn ? 0 : this.#suffixAt(end);
    end += suffix;
    if (isTerm && (!isPlain || isHyphenated || suffix > 0) && end - start <= termLengthMax) {
      this.#add(this.#vocabulary.wholeOf(this.#text.slice(start, end)), start, end);
    }
    for (const [i, run] of runs.entries()) this.#addRun(run, runStarts[i]);
    if (goesOn) this.#joined = next;
    return goesOn ? next : end;
  }

  #addRun({ text, number, parts }: Run, start: number): void {
    if (parts === undefined) {
      this.#addWord(number, start, start + text.length);
      return;
    }
    for (let i = 0; i < parts.numbers.length; i++) {
      this.numbers.push(parts.numbers[i]);
      if (i >= parts.wholes) this.#count(parts.numbers[i]);
      this.positions.push(this.#position + parts.offsets[i]);
      if (this.#locates) {
        this.starts.push(start + parts.starts[i]);
        this.ends.push(start + parts.ends[i]);
      }
    }
    this.#position += parts.width;
  }

  #addWord(number: number, start: number, end: number): void {
    this.#add(number, start, end);
    this.#count(number);
    this.#position++;
  }

  #count(word: number): void {
    if (this.#vocabulary.termOf(word) !== noTerm) this.length++;
  }

  /**
   * Adds each pair of adjacent characters of a script without spaces, with their marks, and the
   * last one. Beyond `until`, the remaining ones.
   */
  #row(start: number, until: number): number {
    let first = start;
    let second = this.#characterEnd(start);
    for (;;) {
      const hasNext = second < this.#text.length && this.#classAt(second) === unspaced;
      const end = hasNext ? this.#characterEnd(second) : second;
      this.#add(this.#vocabulary.wholeOf(this.#text.slice(first, end)), first, end);
      this.#position++;
      this.length++;
      if (!hasNext || second >= until) return second;
      first = second;
      second = end;
    }
  }

  #add(number: number, start: number, end: number): void {
    this.numbers.push(number);
    this.positions.push(this.#position);
    if (this.#locates) {
      this.starts.push(start);
      this.ends.push(end);
    }
  }

  /** Sets `#hash` to the run's hash. */
  #runEnd(start: number): number {
    const text = this.#text;
    let before = separator;
    let hash = 0;
    let at = start;
    while (at < text.length) {
      const unit = text.charCodeAt(at);
      const kind = unit < 0x80 ? asciiClasses[unit] : this.#classAt(at);
      if (startsRun(kind) || kind === underscore) before = kind;
      else if (kind === apostrophe) {
        if (!isLetter(before) || !isLetter(this.#classAt(at + 1))) break;
      } else if (kind === comma) {
        if (before !== digit || !this.#isGroup(at + 1)) break;
      } else if (kind !== mark) break;
      hash = Math.imul(hash ^ unit, 0x01000193);
      at += unit < 0x80 ? 1 : this.#widthAt(at);
    }
    this.#hash = (hash ^ (hash >>> 15)) | 0;
    return at;
  }

  /** Whether exactly three digits follow, as after the comma of `1,000`. */
  #isGroup(at: number): boolean {
    for (let i = 0; i < 3; i++) if (this.#classAt(at + i) !== digit) return false;
    return this.#classAt(at + 3) !== digit;
  }

  /** The start of a run that joiners at `end` join, or `end`. */
  #nextRun(end: number): number {
    let at = end;
    while (at - end < joinersMax && this.#classAt(at) === joiner) at++;
    return at > end && startsRun(this.#classAt(at)) ? at : end;
  }

  /** Length of the ending of names such as `C++` and `F#`, or 0. */
  #suffixAt(at: number): number {
    const width = this.#text.startsWith("++", at) ? 2 : this.#text[at] === "#" ? 1 : 0;
    return startsRun(this.#classAt(at + width)) ? 0 : width;
  }

  #characterEnd(start: number): number {
    let end = start + this.#widthAt(start);
    while (end - start < termLengthMax / 2 && this.#classAt(end) === mark) end += this.#widthAt(end);
    return end;
  }

  /** Beyond the end, everything separates. */
  #classAt(at: number): number {
    if (at >= this.#text.length) return separator;
    const unit = this.#text.charCodeAt(at);
    if (unit < 0x80) return asciiClasses[unit];
    return classOf((unit & 0xfc00) === 0xd800 ? (this.#text.codePointAt(at) ?? unit) : unit);
  }

  #widthAt(at: number): number {
    if ((this.#text.charCodeAt(at) & 0xfc00) !== 0xd800) return 1;
    return (this.#text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
}

function isAsciiLetter(unit: number): boolean {
  const small = unit | 0x20;
  return small >= 0x61 && small <= 0x7a;
}

function startsRun(kind: number): boolean {
  return kind === letter || kind === capital || kind === digit;
}
