/** The contents of items: what is stored of a text, and of an image, which is embedded at the same time. */

import { invalid, typeName } from "../check-input.js";
import { type Embedder, embedImages, type EmbeddedVector } from "../embedding/embedder.js";
import { type Image, isImage } from "../embedding/image.js";
import { keptText, readImage } from "../embedding/read-image.js";
import type { Item } from "../vector-index.js";

const contentsBytesMax = 1024 * 1024;

/** What is stored of contents that are a text; null for none, and for an image until it is read. */
export function packText({ contents, keep }: Item, i: number): Uint8Array | null {
  const isKeep = keep === undefined || keep === null || typeof keep === "boolean" || typeof keep === "string";
  if (!isKeep) throw invalid(`items[${i}].keep: expected a boolean or a text, got ${typeName(keep)}`);
  if (isImage(contents)) return null;
  if ((keep ?? false) !== false) throw invalid(`items[${i}].keep: expected contents that are an image`);
  if (contents === undefined || contents === null) return null;
  if (typeof contents === "string") return encodeText(contents, `items[${i}].contents`);
  throw invalid(`items[${i}].contents: expected a string or an image, got ${typeName(contents)}`);
}

export interface PackedImage {
  /** What is stored of it. */
  readonly contents: Uint8Array | null;
  /** Undefined if the item has one. */
  readonly vector: EmbeddedVector | undefined;
}

/** Reads the image that is the item's contents, and embeds it unless the item has a vector. */
export async function packImage(
  { contents, keep, vector }: Item,
  i: number,
  embedder: Embedder | undefined,
): Promise<PackedImage> {
  const where = `items[${i}].contents`;
  const source = await readImage(contents as Image, where);
  const text = keptText(source, keep ?? false, where);
  const stored = text === undefined ? null : encodeText(text, where);
  if ((vector ?? undefined) !== undefined || embedder === undefined)
    return { contents: stored, vector: undefined };
  const [embedded] = await embedImages(embedder, [source], where);
  return { contents: stored, vector: embedded };
}

function encodeText(text: string, where: string): Uint8Array {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length > contentsBytesMax) {
    throw invalid(`${where}: expected at most ${contentsBytesMax} bytes of UTF-8, got ${bytes.length}`);
  }
  return bytes;
}
