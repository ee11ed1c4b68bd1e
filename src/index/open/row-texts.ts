/** The texts of rows that an index of words is made of. */

import { isImageUrl } from "../../embedding/image.js";
import type { RowTexts } from "../../state/segment/words/gather-terms.js";
import { decodeContents, recordMetadata } from "../../state/segment/row.js";
import type { Analyzer } from "../../text/analyzer.js";
import { fieldTexts } from "../../text/document-terms.js";
import type { TextDefinition } from "../../text/text-options.js";

export function rowTexts(definition: TextDefinition, analyzer: Analyzer): RowTexts {
  const { fields } = definition;
  const needsMetadata = fields.some(({ path }) => path !== "contents");
  return {
    analyzer,
    of({ contents, record }) {
      const text = contents === null ? undefined : decodeContents(contents);
      const item = {
        contents: text === undefined || isImageUrl(text) ? undefined : text,
        metadata: needsMetadata ? recordMetadata(record) : {},
      };
      return fieldTexts(item, fields);
    },
  };
}
