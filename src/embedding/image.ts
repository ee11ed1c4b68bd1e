/** Images for models that embed both images and texts (CLIP, SigLIP). Uses no Node.js modules. */

import { isBytes, isClampedBytes } from "../checks/value-kinds.js";

/** Pixels, row by row, for example a `RawImage` of transformers.js. */
export interface Pixels {
  /** Layout (height, width, channels), 0 to 255. */
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
  /** Gray, gray and alpha, RGB, or RGB and alpha. */
  readonly channels: 1 | 2 | 3 | 4;
}

/**
 * An image: the bytes of a PNG, JPEG, WebP or GIF file, the same in base64, the path of such a
 * file, or pixels. Paths and pixels are for embedded indexes only. No URL is ever fetched.
 */
export type Image = Uint8Array | { readonly base64: string } | { readonly path: string } | Pixels;

export type Keep = boolean | string;

/** Whether the value has the form of an image; its content is not checked. */
export function isImage(value: unknown): value is Image {
  if (typeof value !== "object" || value === null) return false;
  if (isBytes(value)) return true;
  const { base64, path, data } = value as Partial<Record<string, unknown>>;
  return typeof base64 === "string" || typeof path === "string" || isPixelData(data);
}

/** Copies the image: the caller may reuse the bytes. */
export function takeImage(image: Image): Image {
  if (isBytes(image)) return new Uint8Array(image);
  if ("base64" in image && typeof image.base64 === "string") return { base64: image.base64 };
  if ("path" in image && typeof image.path === "string") return { path: image.path };
  // Drops the other members of a RawImage, since this one is sent to a thread.
  const { data, width, height, channels } = image as Pixels;
  return { data: new Uint8Array(data), width, height, channels };
}

export function isPixelData(data: unknown): data is Pixels["data"] {
  return isBytes(data) || isClampedBytes(data);
}

const imageUrl = /^data:image\/(?:png|jpeg|webp|gif);base64,/;

/** Whether a text is a kept image: a file in a `data:` URL. */
export function isImageUrl(text: string): boolean {
  return imageUrl.test(text);
}

/** The base64 text of an image in a `data:` URL. */
export function base64OfUrl(url: string): string {
  return url.slice(url.indexOf(",") + 1);
}
