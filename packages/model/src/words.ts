/**
 * Text to words as BERT's uncased tokenizers cut it: the normalizer and the pre-tokenizer of the `tokenizers` library
 * (`BertNormalizer`, `BertPreTokenizer`). The text is decomposed (NFD), control characters and marks are dropped, and
 * letters become lower case; white space separates words; a punctuation character or an ideograph is a word of its own.
 */

import { ignored, isolated } from "./character-classes";

const plainText = /^[\t\n\r\x20-\x7e]*$/;
const loneSurrogates = /\p{Cs}/gu;
/** The marks after the first 30 of a run: to order more, as NFD does, takes a time that grows with their square. */
const moreMarks = /(?<!\p{M})(\p{M}{30})\p{M}+/gu;
const words = new RegExp(`[${isolated}]|[^\\s${isolated}]+`, "gu");
/** Characters that are read between pauses: a few milliseconds. */
const charactersTogether = 32_768;

/** Whether a text is of printable ASCII characters and white space. */
export function isPlain(text: string): boolean {
  return plainText.test(text);
}

/**
 * The words of a text, in order. A lone surrogate is dropped, as the replacement character is. Yields undefined where a
 * caller may pause: after each pass over a long text, and between its words.
 */
export function* wordsIn(text: string): Generator<string | undefined, void> {
  const isLong = text.length > charactersTogether;
  let folded = text.replace(loneSurrogates, "").replace(moreMarks, "$1");
  if (isLong) yield undefined;
  folded = folded.normalize("NFD");
  if (isLong) yield undefined;
  folded = folded.replace(ignored, "");
  if (isLong) yield undefined;
  folded = folded.toLowerCase();
  let pauseAt = charactersTogether;
  for (const match of folded.matchAll(words)) {
    if (match.index >= pauseAt) {
      yield undefined;
      pauseAt = match.index + charactersTogether;
    }
    yield match[0];
  }
}
