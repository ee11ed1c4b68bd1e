/** The JSON of items in upserts. */

import { checkText } from "../check-input.js";
import { type JsonText, parsedJson, takeJson } from "../json-text.js";
import { itemFields } from "../method-options.js";
import { takeOptions } from "../option-names.js";
import type { Item, Metadata } from "../vector-index.js";
import type { Keep } from "../embedding/image.js";
import type { Maybe } from "./address.js";
import { type ContentsBody, decodeContents, encodeContents } from "./contents.js";
import { decodeTime, decodeVector, encodeTime, encodeVector } from "./values.js";

export interface ItemBody {
  readonly id: string;
  readonly vector?: Maybe<readonly number[]>;
  readonly contents?: Maybe<ContentsBody>;
  readonly keep?: Maybe<Keep>;
  readonly metadata?: Maybe<Metadata>;
  /** ISO 8601. */
  readonly expires_at?: Maybe<string>;
}

/** A copy of an item, independent of the caller's objects. */
export interface EncodedItem extends Omit<ItemBody, "metadata"> {
  readonly metadata: JsonText | undefined;
}

/** `where` is the item's place in messages. */
export function encodeItem(item: Item, where: string): EncodedItem {
  item = takeOptions(item, itemFields, where);
  const { id, vector, contents, keep, metadata, expiresAt } = item;
  checkText(id, `${where}.id`);
  return {
    id,
    vector: vector && encodeVector(vector, `${where}.vector`),
    contents: encodeContents(contents, `${where}.contents`),
    keep,
    metadata: (metadata ?? undefined) === undefined ? undefined : takeJson(metadata, `${where}.metadata`),
    expires_at: encodeTime(expiresAt, `${where}.expiresAt`),
  };
}

/** Metadata stay `JsonText`. */
export function decodeItem(
  { id, vector, contents, keep, metadata, expires_at }: ItemBody,
  where: string,
): Item {
  return {
    id,
    vector: vector ? decodeVector(vector, `${where}.vector`) : undefined,
    contents: decodeContents(contents),
    keep: keep ?? undefined,
    metadata: metadata ? parsedJson(metadata, `${where}.metadata`) : undefined,
    ...((expires_at ?? undefined) !== undefined && {
      expiresAt: decodeTime(expires_at, `${where}.expires_at`),
    }),
  };
}

/**
 * Decodes one element of an array of the request, so that a body need not be in memory as a whole.
 * `name` is the array, `where` the element's place in messages. Elements of other arrays are
 * returned unchanged.
 */
export function decodeElement(name: string, element: unknown, where: string): unknown {
  if (name === "items") return decodeItem(element as ItemBody, where);
  if (name === "batch.metadata" && element !== null) return parsedJson(element as object, where);
  if (name === "query_vectors" && Array.isArray(element)) return decodeVector(element, where);
  return element;
}

/** The items of a body whose elements are already decoded. */
export function decodeItems(body: { readonly items: readonly unknown[] }): readonly Item[] {
  return body.items as readonly Item[];
}
