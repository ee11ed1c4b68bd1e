/**
 * Text to words as BERT's uncased tokenizers cut it: the normalizer and the pre-tokenizer of the `tokenizers` library
 * (`BertNormalizer`, `BertPreTokenizer`). The text is decomposed (NFD), control characters and marks are dropped, and
 * letters become lower case; white space separates words; a punctuation character or an ideograph is a word of its own.
 */

import { ignored, isolated } from "./character-classes";

const plainText = /^[\t\n\r\x20-\x7e]*$/;
const plainWords = /[0-9a-z]+|[!-/:-@[-`{-~]/g;
const loneSurrogates = /\p{Cs}/gu;
const words = new RegExp(`[${isolated}]|[^\\s${isolated}]+`, "gu");

/** The words of a text, in order. A lone surrogate is dropped, as the replacement character is. */
export function wordsOf(text: string): readonly string[] {
  if (plainText.test(text)) return text.toLowerCase().match(plainWords) ?? [];
  const folded = text.replace(loneSurrogates, "").normalize("NFD").replace(ignored, "").toLowerCase();
  return folded.match(words) ?? [];
}
