/** The order of terms by their bytes in UTF-8. */

import type { Work } from "../engine/work.js";
import { sortedInPieces } from "./sorted-in-pieces.js";

/** Characters of a term's beginning in each of the two words of its key. */
const keyLength = 3;
/** Of a character that is not ASCII, which ends a key: it comes after those that are. */
const notAscii = 0x80;
const digitBits = 12;
/** Terms between two pauses. */
const keysTogether = 2 ** 14;
/** Terms that begin alike and are sorted between two pauses. */
const alikeMax = 2 ** 12;

/**
 * Places of `terms`, which are distinct, in order: a radix sort by the first six characters, then comparisons among terms that begin
 * alike. To compare all of them takes ten times as long.
 */
export function* sortedTerms(terms: readonly string[]): Work<Uint32Array> {
  const n = terms.length;
  const firsts = new Uint32Array(n);
  const seconds = new Uint32Array(n);
  let order: Uint32Array = new Uint32Array(n);
  for (let start = 0; start < n; start += keysTogether) {
    for (let i = start; i < Math.min(n, start + keysTogether); i++) {
      order[i] = i;
      firsts[i] = keyOf(terms[i], 0);
      seconds[i] = hasAsciiStart(firsts[i]) ? keyOf(terms[i], keyLength) : 0;
    }
    yield;
  }
  for (const keys of [seconds, firsts]) {
    for (const shift of [0, digitBits]) order = yield* sortedByDigit(order, keys, shift);
  }
  let sorted = 0;
  for (let start = 0, end = 0; start < n; start = end) {
    const [first, second] = [firsts[order[start]], seconds[order[start]]];
    for (end = start + 1; end < n && firsts[order[end]] === first && seconds[order[end]] === second;) end++;
    if (end - start > 1) yield* sortAlike(terms, order.subarray(start, end));
    sorted += end - start;
    if (sorted < alikeMax) continue;
    sorted = 0;
    yield;
  }
  return order;
}

/** The characters from `start` on. */
function keyOf(term: string, start: number): number {
  let key = 0;
  for (let i = start; i < start + keyLength; i++) {
    const unit = i < term.length ? term.charCodeAt(i) : 0;
    if (unit >= notAscii) return ((key << 8) | notAscii) << (8 * (start + keyLength - 1 - i));
    key = (key << 8) | unit;
  }
  return key;
}

function hasAsciiStart(key: number): boolean {
  return (key & 0x808080) === 0;
}

/** Keeps the order of terms with the same digit. */
function* sortedByDigit(order: Uint32Array, keys: Uint32Array, shift: number): Work<Uint32Array> {
  const n = order.length;
  const next = new Uint32Array(2 ** digitBits + 1);
  const mask = 2 ** digitBits - 1;
  for (let start = 0; start < n; start += keysTogether) {
    for (let i = start; i < Math.min(n, start + keysTogether); i++) next[((keys[i] >>> shift) & mask) + 1]++;
    yield;
  }
  for (let digit = 1; digit <= mask; digit++) next[digit] += next[digit - 1];
  const sorted = new Uint32Array(n);
  for (let start = 0; start < n; start += keysTogether) {
    for (let i = start; i < Math.min(n, start + keysTogether); i++) {
      sorted[next[(keys[order[i]] >>> shift) & mask]++] = order[i];
    }
    yield;
  }
  return sorted;
}

/** Sorts places of terms in place. */
function* sortAlike(terms: readonly string[], places: Uint32Array): Work<void> {
  let hasSurrogates = false;
  for (let i = 0; i < places.length && !hasSurrogates; i++) {
    hasSurrogates = /[\ud800-\udfff]/.test(terms[places[i]]);
    if (i % keysTogether === keysTogether - 1) yield;
  }
  // JavaScript orders texts by UTF-16 units, which is another order than that of bytes only if there are surrogates.
  const compare = hasSurrogates ? compareCharacters : compareUnits;
  const comparePlaces = (a: number, b: number) => compare(terms[a], terms[b]);
  if (places.length <= alikeMax) places.sort(comparePlaces);
  else places.set(yield* sortedInPieces([...places], comparePlaces));
}

function compareUnits(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** As the bytes of both in UTF-8 compare: surrogates, of which characters past U+FFFF are made, come after all other units. */
function compareCharacters(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rankOfUnit(x) - rankOfUnit(y);
  }
  return a.length - b.length;
}

function rankOfUnit(unit: number): number {
  return unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
