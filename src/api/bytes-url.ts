/** Bytes as the contents of an item: a `data:` URL, which has no words. */

import { isImageUrl } from "../embedding/image.js";

const prefix = "data:application/octet-stream;base64,";

/** The most bytes that fit into the contents of an item as a URL. */
export const urlBytesMax = 764 * 1024;

export function bytesUrl(bytes: Uint8Array): string {
  return prefix + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}

export function isBytesUrl(text: string): boolean {
  return text.startsWith(prefix);
}

/** The bytes of a text for which `isBytesUrl` holds. */
export function bytesOfUrl(url: string): Uint8Array {
  return Buffer.from(url.slice(prefix.length), "base64");
}

/** Whether contents are an image or bytes, so that a text index skips them. */
export function isWordless(contents: string): boolean {
  return isImageUrl(contents) || isBytesUrl(contents);
}
