/** Base64 that also works in browsers. */

/** A multiple of three, so that encoded pieces can be joined, and below the limit of arguments. */
const pieceBytes = 3 * 4096;

export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + pieceBytes)));
  }
  return text;
}

/** The length of the base64 text of this many bytes. */
export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}
