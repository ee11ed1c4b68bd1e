/**
 * Reads format and size from the first bytes of an image file, so that other files, and images that
 * would decode to too much memory, never reach a decoder. Formats that can refer to other files,
 * for example SVG, are not accepted.
 */

import { SealdexError } from "../errors.js";

export interface ImageFile {
  readonly type: "image/png" | "image/jpeg" | "image/webp" | "image/gif";
  readonly width: number;
  readonly height: number;
}

const bytesMax = 32 * 1024 * 1024;
/** 150 MB in RGB. */
const pixelsMax = 50_000_000;

/** Throws `invalid_request`. `where`: names the image in messages. */
export function checkImageFile(bytes: Uint8Array, where: string): ImageFile {
  checkImageBytes(bytes.length, where);
  const file = readHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (file === undefined) throw refused(`${where}: expected a PNG, JPEG, WebP or GIF file, got other bytes`);
  checkImageSize(file.width, file.height, where);
  return file;
}

/** Throws `invalid_request` if the file is too long. */
export function checkImageBytes(bytes: number, where: string): void {
  if (bytes > bytesMax)
    throw refused(`${where}: expected an image of at most ${bytesMax} bytes, got ${bytes}`);
}

/** Throws `invalid_request` if the image has too many pixels. */
export function checkImageSize(width: number, height: number, where: string): void {
  const isSize = Number.isInteger(width) && Number.isInteger(height) && width > 0 && height > 0;
  if (!isSize || width * height > pixelsMax) {
    throw refused(`${where}: expected an image of 1 to ${pixelsMax} pixels, got ${width} x ${height}`);
  }
}

function readHeader(view: DataView): ImageFile | undefined {
  if (view.byteLength < 30) return undefined;
  const start = view.getUint32(0);
  if (start === 0x89504e47) {
    return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
  }
  if (start === 0x47494638) {
    return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
  }
  if (start === 0x52494646 && view.getUint32(8) === 0x57454250) return webp(view);
  return start >>> 8 === 0xffd8ff ? jpeg(view) : undefined;
}

/** Lossy (VP8), lossless (VP8L) or extended (VP8X). */
function webp(view: DataView): ImageFile | undefined {
  const type = "image/webp";
  switch (view.getUint32(12)) {
    case 0x56503820:
      return { type, width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    case 0x5650384c: {
      const bits = view.getUint32(21, true);
      return { type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 0x56503858: {
      const uint24 = (at: number) => view.getUint16(at, true) + 0x10000 * view.getUint8(at + 2);
      return { type, width: uint24(24) + 1, height: uint24(27) + 1 };
    }
    default:
      return undefined;
  }
}

/** The size is in the frame header, behind other segments. */
function jpeg(view: DataView): ImageFile | undefined {
  for (let at = 2; at + 9 <= view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    // Fill bytes may precede a marker.
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}

export function refused(message: string): SealdexError {
  return new SealdexError("invalid_request", message);
}
