/** The texts of rows that an index of words is made of. */

import { isImageUrl } from "../embedding/image.js";
import type { TermsOf } from "../segment/gather-terms.js";
import { decodeContents, recordMetadata } from "../segment/row.js";
import type { Analyzer } from "../text/analyzer.js";
import { documentTerms } from "../text/document-terms.js";
import { fieldTexts } from "../text/field-texts.js";
import type { TextDefinition } from "../text/text-options.js";

/** Undefined for rows without a text. */
export function termsOfRows({ fields }: TextDefinition, analyzer: Analyzer): TermsOf {
  const needsMetadata = fields.some(({ path }) => path !== "contents");
  return function* ({ contents, record }) {
    const text = contents === null ? undefined : decodeContents(contents);
    const item = {
      contents: text === undefined || isImageUrl(text) ? undefined : text,
      metadata: needsMetadata ? recordMetadata(record) : {},
    };
    const texts = fieldTexts(item, fields);
    return texts.length === 0 ? undefined : yield* documentTerms(analyzer, texts);
  };
}
