/** Upserts over HTTP: as many requests as the items need. */

import { invalid, isArray, jsonText } from "../check-input.js";
import { SealdexError } from "../errors.js";
import type { Item, OpenIndexOptions } from "../vector-index.js";
import { bodyBytesMax, encodeAddress, encodeItem, itemsMax } from "../wire.js";
import type { Connection } from "./connection.js";

/**
 * Sends the items, in as many requests as they need. What can be checked without the service is checked of all items
 * before the first request.
 */
export async function sendItems(
  connection: Connection,
  address: OpenIndexOptions,
  items: readonly Item[],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!isArray(items)) throw invalid("items: expected an array");
  const encoded = Array.from(items, (item, i) => encodeItem(item, `items[${i}]`));
  const open = `${JSON.stringify(encodeAddress(address)).slice(0, -1)},"items":[`;
  const room = bodyBytesMax - utf8Length(open) - "]}".length;
  const send = async (texts: readonly string[], start: number) => {
    try {
      await connection.post("/v1/vectors/upsert", `${open}${texts.join(",")}]}`, signal);
    } catch (error) {
      throw start === 0 ? error : shiftPosition(error, start);
    }
  };
  let texts: string[] = [];
  let bytes = 0;
  for (const [i, item] of encoded.entries()) {
    const text = jsonText(item, `items[${i}]`);
    const length = utf8Length(text) + ",".length;
    if (texts.length === itemsMax || (texts.length > 0 && bytes + length > room)) {
      await send(texts, i - texts.length);
      texts = [];
      bytes = 0;
    }
    texts.push(text);
    bytes += length;
  }
  await send(texts, items.length - texts.length);
}

/** The service counts the items of one request, the caller those of the whole call. */
function shiftPosition(error: unknown, start: number): unknown {
  if (!(error instanceof SealdexError)) return error;
  const message = error.message.replace(/^items\[(\d+)\]/, (_, i) => `items[${Number(i) + start}]`);
  return new SealdexError(error.code, message, { cause: error });
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
