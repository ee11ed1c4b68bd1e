/** Reads HTTP responses of limited length. */

import { SealdexError } from "../errors.js";

/**
 * Returns the body, decompressed, as UTF-8. Throws `too_large` for a longer one, and the stream's
 * errors.
 */
export async function responseText(response: Response, bytesMax: number, what: string): Promise<string> {
  const utf8 = new TextDecoder();
  const parts: string[] = [];
  let bytes = 0;
  // Some browsers cannot iterate over a stream.
  const reader = response.body?.getReader();
  for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
    bytes += chunk.value.length;
    if (bytes > bytesMax) {
      await reader?.cancel().catch(() => undefined);
      throw new SealdexError(
        "too_large",
        `${what}: expected an answer of at most ${bytesMax} bytes, got more`,
      );
    }
    parts.push(utf8.decode(chunk.value, { stream: true }));
  }
  return parts.join("") + utf8.decode();
}
