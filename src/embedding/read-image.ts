/** Reads images for models, and the text that is kept of them. */

import { readFile, stat } from "node:fs/promises";
import { SealdexError } from "../errors.js";
import { base64OfUrl, type Image, isPixelData, type Keep, type Pixels } from "./image.js";
import { checkImageBytes, checkImageFile, checkImageSize, refused } from "./image-file.js";
import { isBytes } from "../value-kinds.js";

/** The bytes of a file of a known format and size, or pixels. */
export type ImageSource = Buffer | Pixels;

/** Throws `invalid_request`. `where`: names the image in messages. */
export async function readImage(image: Image, where: string): Promise<ImageSource> {
  if (isBytes(image)) {
    checkImageFile(image, where);
    return Buffer.from(image.buffer, image.byteOffset, image.byteLength);
  }
  if ("base64" in image) return checkedFile(decodeBase64(image.base64, where), where);
  if ("path" in image) return checkedFile(await readFileOf(image.path, where), where);
  return checkedPixels(image, where);
}

/** Decodes a text for which `isImageUrl` holds. */
export function readImageUrl(url: string, where: string): ImageSource {
  return checkedFile(decodeBase64(base64OfUrl(url), where), where);
}

/** The stored contents of an image: its file as a `data:` URL, the caller's text, or nothing. */
export function keptText(source: ImageSource, keep: Keep, where: string): string | undefined {
  if (keep === false) return undefined;
  if (typeof keep === "string") return keep;
  if (!Buffer.isBuffer(source)) {
    throw refused(`${where}: keep requires a file, got pixels`);
  }
  return `data:${checkImageFile(source, where).type};base64,${source.toString("base64")}`;
}

function checkedFile(bytes: Buffer, where: string): Buffer {
  checkImageFile(bytes, where);
  return bytes;
}

function checkedPixels({ data, width, height, channels }: Pixels, where: string): Pixels {
  checkImageSize(width, height, where);
  const isWhole = isPixelData(data) && data.length === width * height * channels;
  if (![1, 2, 3, 4].includes(channels) || !isWhole) {
    throw refused(`${where}: expected width × height × channels bytes of pixels, with 1 to 4 channels`);
  }
  return { data, width, height, channels };
}

/** `Buffer.from` skips invalid characters; only the length shows whether there were any. */
function decodeBase64(text: string, where: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if (bytes.length !== Math.floor((text.length * 3) / 4) - padding) {
    throw refused(`${where}: expected base64`);
  }
  return bytes;
}

/** Checks the file type before reading: a device has no end. */
async function readFileOf(path: string, where: string): Promise<Buffer> {
  try {
    const file = await stat(path);
    if (!file.isFile()) throw refused(`${where}: expected the path of a file`);
    checkImageBytes(file.size, where);
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof SealdexError) throw cause;
    const { code = "unknown" } = cause as { code?: string };
    throw new SealdexError("invalid_request", `${where}: the file could not be read (${code})`, {
      cause,
    });
  }
}
