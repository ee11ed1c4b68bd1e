/** The contents of items: what is stored of a text, and of an image, which is embedded at the same time. */

import { invalid, typeName } from "../check-input.js";
import { type Embedder, embedImages, type EmbeddedVector } from "../embedding/embedder.js";
import { type Image, isImage, type Keep } from "../embedding/image.js";
import { keptText, readImage } from "../embedding/read-image.js";
import type { Item } from "../vector-index.js";

const contentsBytesMax = 1024 * 1024;

/** Throws `invalid_request` for what is no contents, and for what is to be kept of a text. `where`: the item. */
export function checkContents({ contents, keep }: Item, where: string): void {
  const isKeep = keep === undefined || keep === null || typeof keep === "boolean" || typeof keep === "string";
  if (!isKeep) throw invalid(`${where}.keep: expected a boolean or a text, got ${typeName(keep)}`);
  if (isImage(contents)) return;
  if ((keep ?? false) !== false) throw invalid(`${where}.keep: expected contents that are an image`);
  if (contents === undefined || contents === null || typeof contents === "string") return;
  throw invalid(`${where}.contents: expected a string or an image, got ${typeName(contents)}`);
}

export interface PackedImage {
  /** What is stored of it. */
  readonly contents: Uint8Array | null;
  readonly vector: EmbeddedVector | undefined;
}

/** Reads the image, and embeds it if `embedder` is given. `where`: the image, for messages. */
export async function packImage(
  image: Image,
  keep: Keep | undefined,
  where: string,
  embedder: Embedder | undefined,
): Promise<PackedImage> {
  const source = await readImage(image, where);
  const text = keptText(source, keep ?? false, where);
  const contents = text === undefined ? null : encodeText(text, where);
  if (embedder === undefined) return { contents, vector: undefined };
  const [vector] = await embedImages(embedder, [source], where);
  return { contents, vector };
}

/** What is stored of a text. */
export function encodeText(text: string, where: string): Uint8Array {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length > contentsBytesMax) {
    throw invalid(`${where}: expected at most ${contentsBytesMax} bytes of UTF-8, got ${bytes.length}`);
  }
  return bytes;
}
