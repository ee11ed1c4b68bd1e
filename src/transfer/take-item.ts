/** Copies an item, since a source may reuse an object or buffer for the next one. */

import { isDate } from "../value-kinds.js";
import { isVector } from "../check-input.js";
import { isImage, takeImage } from "../embedding/image.js";
import { takeJson } from "../json-text.js";
import type { Item, NamespaceOption } from "../vector-index.js";

/**
 * Copies the item. Returns non-objects unchanged; storing refuses them. Throws `invalid_request`
 * for invalid metadata.
 */
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
