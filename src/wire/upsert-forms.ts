/** Encodings of upserted items: JSON, or JSON with the vectors in base64. */

import { jsonText } from "../check-input.js";
import type { OpenIndexOptions } from "../vector-index.js";
import { encodeAddress } from "./address.js";
import { base64Length } from "./base64.js";
import { binaryDimension, encodeVectors } from "./binary.js";
import type { UpsertConditionsBody } from "./changes.js";
import type { EncodedItem } from "./items.js";

/** The texts that an item adds to a request. */
type Texts = readonly string[];

interface UpsertForm {
  readonly path: string;
  /** Bytes of a request without items. */
  readonly emptyBytes: number;
  /** The most bytes that an item adds besides its texts. */
  readonly itemBytes: number;
  /** Throws `invalid_request` for values that JSON cannot express. */
  textsOf(i: number): Texts;
  /** The request for the items from `start` on with these texts. */
  bodyOf(texts: readonly Texts[], start: number): string;
}

/**
 * `binary` is undefined if only JSON can express the items: several dimensions, images, missing
 * vectors.
 */
export function upsertForms(
  address: OpenIndexOptions,
  conditions: UpsertConditionsBody,
  items: readonly EncodedItem[],
): { readonly json: UpsertForm; readonly binary: UpsertForm | undefined } {
  const open = jsonText({ ...encodeAddress(address), ...conditions }, "upsert").slice(0, -1);
  const dimension = binaryDimension(items);
  return {
    json: jsonForm(open, items),
    binary: dimension === undefined ? undefined : binaryForm(open, items, dimension),
  };
}

function jsonForm(open: string, items: readonly EncodedItem[]): UpsertForm {
  const bodyOf = (texts: readonly Texts[]) => `${open},"items":[${texts.join(",")}]}`;
  return {
    path: "/v1/vectors/upsert",
    emptyBytes: utf8Length(bodyOf([])),
    itemBytes: ",".length,
    textsOf(i) {
      const { metadata, ...others } = items[i];
      const text = jsonText(others, `items[${i}]`);
      return [metadata === undefined ? text : `${text.slice(0, -1)},"metadata":${metadata.text}}`];
    },
    bodyOf,
  };
}

function binaryForm(open: string, items: readonly EncodedItem[], dimension: number): UpsertForm {
  const bodyOf = (texts: readonly Texts[], start: number) => {
    const column = (c: number) => texts.map((ofItem) => ofItem[c]).join(",");
    const vectors = items.slice(start, start + texts.length).map(({ vector }) => vector ?? []);
    const lists = `"ids":[${column(0)}],"metadata":[${column(1)}],"contents":[${column(2)}]`;
    return `${open},"batch":{${lists},${JSON.stringify(encodeVectors(vectors, dimension)).slice(1)}}`;
  };
  return {
    path: "/v1/vectors/upsert_binary",
    emptyBytes: utf8Length(bodyOf([], 0)),
    itemBytes: ",,,".length + base64Length(4 * dimension),
    textsOf(i) {
      const { id, metadata, contents = null } = items[i];
      return [JSON.stringify(id), metadata?.text ?? "null", JSON.stringify(contents)];
    },
    bodyOf,
  };
}

export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
