/** The JSON of items in upserts. */

import { itemFields } from "../../api/method-options.js";
import type { Item, Metadata } from "../../api/vector-index.js";
import { checkText, invalid, typeName } from "../../checks/input.js";
import { type JsonText, parsedJson, takeJson } from "../../checks/json-text.js";
import { takeOptions } from "../../checks/option-names.js";
import { isBytes } from "../../checks/value-kinds.js";
import type { Image, Keep } from "../../embedding/image.js";
import type { Maybe } from "./address.js";
import { decodeTime, decodeVector, encodeBase64, encodeTime, encodeVector } from "./values.js";

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
    contents: decodeContentsBody(contents),
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

// Contents in JSON: a text, or an image's file in base64.

export type ContentsBody = string | { readonly base64: string };

/**
 * Throws `invalid_request` for an image that is not the bytes of a file: services read no paths.
 */
export function encodeContents(
  contents: string | Image | null | undefined,
  where: string,
): ContentsBody | undefined {
  if (contents === undefined || contents === null || typeof contents === "string")
    return contents ?? undefined;
  if (isBytes(contents)) return { base64: encodeBase64(contents) };
  if (typeof contents === "object" && "base64" in contents) return { base64: contents.base64 };
  throw invalid(
    `${where}: expected a text, or the bytes of an image's file to send to the service, got ${typeName(contents)}`,
  );
}

/** Takes only known members: the library would read images from paths. */
export function decodeContentsBody(body: ContentsBody | null | undefined): string | Image | undefined {
  return typeof body === "object" && body !== null ? { base64: body.base64 } : (body ?? undefined);
}
