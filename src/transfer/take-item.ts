/** Items of a source, which may use an object or a buffer again for the next one. */

import { isDate } from "../value-kinds.js";
import { isVector } from "../check-input.js";
import { isImage, takeImage } from "../embedding/image.js";
import { takeJson } from "../json-text.js";
import type { Item, NamespaceOption } from "../vector-index.js";

/** The item as it is now. What is no item stays as it is: it is refused when it is stored. Throws `invalid_request` for metadata. */
export function takeItem<T extends Item & NamespaceOption>(item: T, where: string): T {
  if (typeof item !== "object" || item === null) return item;
  const { vector, contents, metadata, expiresAt } = item;
  return {
    ...item,
    ...(isVector(vector) && { vector: vector.slice() }),
    ...(isImage(contents) && { contents: takeImage(contents) }),
    ...((metadata ?? undefined) !== undefined && { metadata: takeJson(metadata, `${where}.metadata`) }),
    ...(isDate(expiresAt) && { expiresAt: new Date(expiresAt) }),
  };
}
