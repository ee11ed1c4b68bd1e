/** Fields of results that the client adds to what the service sends. */

import type { ItemField, WordField } from "../vector-index.js";
import { texts } from "../wire.js";

/** Fields that results of queries include now, and those that a second request gets later: with them metadata, to be of the same state. */
export function fetchedFields(include: readonly WordField[]): {
  readonly now: WordField[];
  readonly later: ItemField[];
} {
  texts(include, "include");
  const isLater = (field: WordField) => field === "vector" || field === "decoded" || field === "contents";
  if (!include.some(isLater)) return { now: [...include], later: [] };
  const isOfItem = (field: WordField): field is ItemField => isLater(field) || field === "metadata";
  return { now: include.filter((field) => !isOfItem(field)), later: include.filter(isOfItem) };
}
