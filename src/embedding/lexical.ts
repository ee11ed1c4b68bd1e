/**
 * Text to vector by hashed word beginnings and character n-grams: texts in similar words get similar directions.
 * It is lexical and knows no meaning: synonyms, translations and paraphrases in other words do not match. Function
 * words are discounted for English only; everything else is the same for all languages.
 *
 * A vector depends on text and dimension alone and stays the same in all versions and on all machines (but characters
 * that a later Unicode adds count as separators if the JavaScript engine does not know them yet):
 * 1. The text without the marks (Unicode M) that follow 30 others, in NFKC, then in lower case. From here on a
 *    character is a UTF-16 code unit.
 * 2. A word is a longest run of letters, digits and marks (Unicode L, N, M) that does not begin with a mark. An
 *    ideograph or kana (letter or digit of script extension Han, Hiragana or Katakana) is a word of its own.
 * 3. Kind-1 feature of a word: its first 5 characters. Kind-2 features: each 4 consecutive characters of `<word>`.
 *    Of an ideograph, kind 1: itself; kind 2: itself after the ideograph right before it, if there is one.
 * 4. Each occurrence weighs 1 for kind 1; for kind 2, 1.5 / sqrt(n) where `<word>` has n of them, and 1 of an
 *    ideograph. In `commonWords` it weighs a fifth of that. A feature's weight is x^(3/4), where x is the sum over its
 *    occurrences.
 * 5. A feature's hash h is FNV-1a, 32 bits, over its characters, from its kind's basis, through MurmurHash3's
 *    finaliser. The weight is added to component floor(h * dimension / 2^32), or subtracted if h is odd.
 * 6. The vector is divided by its Euclidean norm; a text without words gives zeros, as does one whose few features
 *    happen to cancel out. Sums are in double precision, over features in the order of first occurrence; the result is
 *    rounded to float32.
 *
 * References: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009); McNamee and Mayfield,
 * "Character N-Gram Tokenization for European Language Text Retrieval" (2004), for n = 4.
 */

const stemLength = 5;
const gramLength = 4;
const gramWeight = 1.5;
const commonWeight = 0.2;
const stemBasis = 0x811c9dc5;
const gramBasis = 0x2f0b4c47;
const wordStart = 0x3c;
const wordEnd = 0x3e;

/**
 * English words that say little about a text's subject: function words, and phrases of requests and
 * reports.
 */
const commonWords = new Set(
  `
  a able about above according across actual actually add added after again against all along already also
  although always am among an and another any appear appears applied apply appropriate are aren around
  article articles as ask at available away back based basic be became because become becomes been before
  begin being below best better between both bring but by came can cannot certain change come common
  complete concerned consider considered contain contains could couldn course d deal deals describe
  described describes description detail details determine determined develop developed did didn different
  difficult discuss discussed discusses do does doesn doing don done down due during each early either end
  enough especially etc even ever every example examples fact far few find first five following follows
  for form found four from full further furthermore gave general generally get getting give given gives
  giving go good great had hadn has hasn have haven having he her here hers herself high him himself his
  how however i if important in include included includes including indicate information instead interest
  into is isn it its itself just keep know known large last later least less let like likely little ll
  look low m made main mainly major make makes making man many may me means method methods might more most
  much must my myself near necessary need needed needs never new next no nor not nothing now of off often
  old on once one only or other others our ours ourselves out over own paper part particular particularly
  people per perhaps possible present presented problem problems provide provided provides put rather re
  read really recent related relation result results s said same say second see seem seems seen self sent
  several shall she should shouldn show showed shown shows similar simple simply since six small so some
  something sometimes special step still studies study such t take taken takes tell ten than that the
  their theirs them themselves then there these they thing things think third this those three through
  thus time times to together too toward towards try two under until up upon use used using usually
  various ve very want was wasn way ways we well went were weren what when where which while who whom
  whose why will with within without won would wouldn year years yes yet you your yours yourself
  yourselves
`.match(/[a-z]+/g),
);
const commonLengthMax = 12;

/** Sums per hash in the order of first occurrence: an open-addressing table, at most half full. */
class FeatureSums {
  size = 0;
  hashes = new Uint32Array(1024);
  sums = new Float64Array(1024);
  /** Positions in `hashes` plus 1; 0 is free. */
  #slots = new Int32Array(2048);

  clear(): void {
    this.#slots.fill(0);
    this.size = 0;
  }

  add(hash: number, weight: number): void {
    let slot = this.#slotOf(hash);
    if (this.#slots[slot] === 0) {
      if (this.size === this.hashes.length) {
        this.#grow();
        slot = this.#slotOf(hash);
      }
      this.hashes[this.size] = hash;
      this.sums[this.size] = 0;
      this.#slots[slot] = ++this.size;
    }
    this.sums[this.#slots[slot] - 1] += weight;
  }

  #slotOf(hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0 && this.hashes[this.#slots[slot] - 1] !== hash) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const hashes = new Uint32Array(2 * this.size);
    const sums = new Float64Array(2 * this.size);
    hashes.set(this.hashes);
    sums.set(this.sums);
    this.hashes = hashes;
    this.sums = sums;
    this.#slots = new Int32Array(4 * this.size);
    for (let i = 0; i < this.size; i++) this.#slots[this.#slotOf(hashes[i])] = i + 1;
  }
}

/** Reused for texts without pauses, so that a short text allocates no table. */
const textFeatures = new FeatureSums();

/** Returns `dimension` components of norm 1, or all 0 if there are no words. */
export function lexicalVector(text: string, dimension: number): Float32Array {
  const work = lexicalVectorInPieces(text, dimension);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Characters per piece, which take some milliseconds. Shorter texts take no pause. */
const charactersTogether = 32_768;

/** Like `lexicalVector`, with a pause every few milliseconds. */
export function* lexicalVectorInPieces(text: string, dimension: number): Generator<void, Float32Array> {
  const isShort = text.length * expansionMax <= charactersTogether;
  const features = isShort ? textFeatures : new FeatureSums();
  features.clear();
  const normal = isShort ? normalized(text) : yield* normalizedInPieces(text);
  yield* addFeatures(normal.toLowerCase(), features);

  const components = new Float64Array(dimension);
  for (let i = 0; i < features.size; i++) {
    const hash = features.hashes[i];
    const root = Math.sqrt(features.sums[i]);
    // x^(3/4) from square roots, which every machine rounds alike.
    const weight = root * Math.sqrt(root);
    components[Math.floor((hash * dimension) / 0x100000000)] += hash & 1 ? -weight : weight;
  }
  let squares = 0;
  for (let i = 0; i < dimension; i++) squares += components[i] * components[i];
  const norm = Math.sqrt(squares);
  const vector = new Float32Array(dimension);
  if (norm > 0) for (let i = 0; i < dimension; i++) vector[i] = components[i] / norm;
  return vector;
}

/** The largest factor by which NFKC lengthens a text: U+FDFA becomes 18 characters. */
const expansionMax = 18;
/** NFKC orders a run of marks in time that grows with the square of its length. */
const moreMarks = /(?<!\p{M})(\p{M}{30})\p{M}+/gu;

const ascii = /^[\0-\x7f]*$/;

function normalized(text: string): string {
  // NFKC does not change ASCII.
  if (ascii.test(text)) return text;
  return text.replace(moreMarks, "$1").normalize("NFKC");
}

function* normalizedInPieces(text: string): Generator<void, string> {
  const bounded = text.replace(moreMarks, "$1");
  let normal = "";
  for (let start = 0; start < bounded.length;) {
    yield;
    let end = start + charactersTogether;
    while (end < bounded.length && !isApart(bounded, end)) end++;
    normal += bounded.slice(start, end).normalize("NFKC");
    start = end;
  }
  yield;
  return normal;
}

/** Whether the text may be cut here for NFKC: nothing composes across this position. */
function isApart(text: string, at: number): boolean {
  const code = text.codePointAt(at) as number;
  const next = String.fromCodePoint(code);
  // A low surrogate is the second half of a character, or alone.
  if (code >= 0xdc00 && code <= 0xdfff) return false;
  if (/^\p{M}/u.test(next.normalize("NFKD"))) return false;
  const before = text.slice(Math.max(0, at - 2), at);
  return (before + next).normalize("NFKC") === before.normalize("NFKC") + next.normalize("NFKC");
}

function* addFeatures(text: string, features: FeatureSums): Generator<void, void> {
  let ideographBefore = -1;
  let at = 0;
  let pauseAt = charactersTogether;
  while (at < text.length) {
    if (at >= pauseAt) {
      yield;
      pauseAt = at + charactersTogether;
    }
    const start = at;
    const code = text.codePointAt(at) as number;
    const kind = kindOf(code);
    at += widthOf(code);
    if (kind === ideograph) {
      features.add(hashOf(text, start, at, stemBasis), 1);
      if (ideographBefore >= 0) features.add(hashOf(text, ideographBefore, at, gramBasis), 1);
      ideographBefore = start;
      continue;
    }
    ideographBefore = -1;
    if (kind !== letter) continue;
    at = endOfWord(text, at);
    if (at - start <= charactersTogether) addWord(text, start, at, features);
    else yield* addLongWord(text.slice(start, at), features);
  }
}

function addWord(text: string, start: number, end: number, features: FeatureSums): void {
  const length = end - start;
  const isCommon = length <= commonLengthMax && commonWords.has(text.slice(start, end));
  const weight = isCommon ? commonWeight : 1;
  features.add(hashOf(text, start, Math.min(end, start + stemLength), stemBasis), weight);
  const grams = length + 3 - gramLength;
  const weightOfGram = (weight * gramWeight) / Math.sqrt(grams);
  // A window of 4 characters over `<word>`.
  let [a, b, c] = [wordStart, text.charCodeAt(start), text.charCodeAt(start + 1)];
  for (let at = start + 2; at <= end; at++) {
    const d = at < end ? text.charCodeAt(at) : wordEnd;
    let hash = Math.imul(gramBasis ^ a, 0x01000193);
    hash = Math.imul(hash ^ b, 0x01000193);
    hash = Math.imul(hash ^ c, 0x01000193);
    features.add(finish(Math.imul(hash ^ d, 0x01000193)), weightOfGram);
    a = b;
    b = c;
    c = d;
  }
}

/** Like `addWord`, with pauses. No common word is this long. */
function* addLongWord(word: string, features: FeatureSums): Generator<void, void> {
  features.add(hashOf(word, 0, stemLength, stemBasis), 1);
  const marked = `${String.fromCharCode(wordStart)}${word}${String.fromCharCode(wordEnd)}`;
  const grams = marked.length + 1 - gramLength;
  const weightOfGram = gramWeight / Math.sqrt(grams);
  for (let gram = 0; gram < grams; gram++) {
    if (gram % charactersTogether === 0) yield;
    features.add(hashOf(marked, gram, gram + gramLength, gramBasis), weightOfGram);
  }
}

function endOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = text.codePointAt(at) as number;
    const kind = kindOf(code);
    if (kind !== letter && kind !== mark) break;
    at += widthOf(code);
  }
  return at;
}

const separator = 1;
const letter = 2;
const mark = 3;
const ideograph = 4;

/** Kinds of the first 65,536 code points; 0 is unknown. */
const kinds = new Uint8Array(0x10000);

function kindOf(code: number): number {
  if (code < kinds.length && kinds[code] !== 0) return kinds[code];
  const character = String.fromCodePoint(code);
  let kind = separator;
  if (/[\p{L}\p{N}]/u.test(character)) {
    kind = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]/u.test(character) ? ideograph : letter;
  } else if (/\p{M}/u.test(character)) {
    kind = mark;
  }
  if (code < kinds.length) kinds[code] = kind;
  return kind;
}

function widthOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}

/** FNV-1a over UTF-16 code units, finalized. */
function hashOf(text: string, start: number, end: number, basis: number): number {
  let hash = basis;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return finish(hash);
}

/** MurmurHash3's finalizer: every bit of the result depends on every bit of `hash`. */
function finish(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
