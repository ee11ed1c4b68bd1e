/** The JSON of `textIndex`. */

import type { TextIndexOptions } from "../vector-index.js";
import type { Maybe } from "./address.js";

export interface TextIndexBody {
  readonly analyzer?: Maybe<{
    readonly language?: Maybe<string>;
    readonly stemming?: Maybe<boolean>;
    readonly stop_words?: Maybe<boolean | readonly string[]>;
  }>;
  readonly text_fields?: Maybe<Readonly<Record<string, number>>>;
  readonly k1?: Maybe<number>;
  readonly b?: Maybe<number>;
}

export function encodeTextIndex(
  options: TextIndexOptions | boolean | undefined,
): TextIndexBody | boolean | undefined {
  if (typeof options !== "object") return options;
  const { analyzer, textFields, k1, b } = options;
  const { language, stemming, stopWords } = analyzer ?? {};
  return {
    analyzer: analyzer && { language, stemming, stop_words: stopWords },
    text_fields: textFields,
    k1,
    b,
  };
}

export function decodeTextIndex(
  body: TextIndexBody | boolean | undefined,
): TextIndexOptions | boolean | undefined {
  if (typeof body !== "object") return body;
  const { analyzer, text_fields, k1, b } = body;
  return defined({
    analyzer:
      analyzer &&
      defined({ language: analyzer.language, stemming: analyzer.stemming, stopWords: analyzer.stop_words }),
    textFields: text_fields,
    k1,
    b,
  }) as TextIndexOptions;
}

/** Drops undefined and null members, which mean the default. */
function defined(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? undefined) !== undefined));
}
