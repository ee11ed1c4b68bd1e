/** Contents in JSON: a text, or an image's file in base64. */

import { invalid, typeName } from "../check-input.js";
import type { Image } from "../embedding/image.js";
import { encodeBase64 } from "./base64.js";
import { isBytes } from "../value-kinds.js";

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
export function decodeContents(body: ContentsBody | null | undefined): string | Image | undefined {
  return typeof body === "object" && body !== null ? { base64: body.base64 } : (body ?? undefined);
}
