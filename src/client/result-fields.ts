/** Decides which result fields need a second request. */

import type { ItemField, WordField } from "../vector-index.js";
import { texts } from "../wire.js";

/**
 * The fields that the query returns, and those of the second request, which include metadata so
 * that all are of one state.
 */
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
