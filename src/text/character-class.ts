/**
 * Character classes for word boundaries: a simplification of Unicode's UAX #29 that is the same in
 * all runtimes.
 *
 * The classes follow the general categories and scripts of the JavaScript engine's Unicode version.
 * They are stable: an older engine treats characters of later versions as separators and agrees on
 * all others. `Intl.Segmenter` depends on the version of ICU and takes 30 times as long.
 */

export const separator = 0;
/** A letter, other than capitals. */
export const letter = 1;
export const capital = 2;
export const digit = 3;
/**
 * Combining marks and joiners, which belong to the previous character; also vowels and finals of a
 * Hangul syllable whose letters are separate code points, and half-width voicing marks.
 */
export const mark = 4;
/** Scripts without spaces between words. */
export const unspaced = 5;
/** Joins the words of identifiers, numbers, addresses and paths. */
export const joiner = 6;
export const apostrophe = 7;
export const underscore = 8;
/** Separates groups of three digits. */
export const comma = 9;

export function isLetter(kind: number | undefined): boolean {
  return kind === letter || kind === capital;
}

const joiners = new Set("-./:@#&+\\~");
const unspacedScript =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;

const blockBits = 8;
const blockSize = 1 << blockBits;
const blocks: (Uint8Array | undefined)[] = Array.from({ length: 0x110000 >> blockBits });

export function classOf(code: number): number {
  return (blocks[code >> blockBits] ?? classesOf(code >> blockBits))[code & (blockSize - 1)];
}

function classesOf(block: number): Uint8Array {
  const classes = new Uint8Array(blockSize);
  for (let i = 0; i < blockSize; i++) {
    classes[i] = classify(String.fromCodePoint(block * blockSize + i));
  }
  blocks[block] = classes;
  return classes;
}

function classify(character: string): number {
  if (character === "_") return underscore;
  if (character === ",") return comma;
  if (character === "'" || character === "\u2019") return apostrophe;
  if (joiners.has(character)) return joiner;
  if (/[\p{M}\u00ad\u200c\u1160-\u11ff\ud7b0-\ud7ff\uff9e\uff9f]|\u200d/u.test(character)) return mark;
  if (/\p{Nd}/u.test(character)) return digit;
  if (/[\p{L}\p{N}]/u.test(character)) {
    if (unspacedScript.test(character)) return unspaced;
    return /[\p{Lu}\p{Lt}]/u.test(character) ? capital : letter;
  }
  return separator;
}
