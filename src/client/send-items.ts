/** Upserts over HTTP: as many requests as the items need. */

import { invalid, isArray, jsonText } from "../check-input.js";
import { SealdexError, shiftPosition } from "../errors.js";
import type { Item, OpenIndexOptions, UpsertOptions, UpsertResult } from "../vector-index.js";
import {
  bodyBytesMax,
  decodeUpsertResult,
  encodeAddress,
  encodeItem,
  encodeUpsertOptions,
  itemsMax,
} from "../wire.js";
import type { Connection } from "./connection.js";
import { isTooLarge } from "./in-batches.js";

/**
 * Sends the items, in as many requests as they need. What can be checked without the service is checked of all items
 * before the first request.
 */
export async function sendItems(
  connection: Connection,
  address: OpenIndexOptions,
  items: readonly Item[],
  options: UpsertOptions,
): Promise<UpsertResult> {
  const { signal } = options;
  const conditions = encodeUpsertOptions(options);
  if (!isArray(items)) throw invalid("items: expected an array");
  const encoded = Array.from(items, (item, i) => encodeItem(item, `items[${i}]`));
  const open = `${JSON.stringify({ ...encodeAddress(address), ...conditions }).slice(0, -1)},"items":[`;
  const room = bodyBytesMax - utf8Length(open) - "]}".length;
  // In several requests, the items would not replace the deleted ones at once.
  const isWhole = (options.deleteFilter ?? undefined) !== undefined;
  const total = { stored: 0, unchanged: 0, deleted: 0 };
  const send = async (texts: readonly string[], start: number): Promise<void> => {
    try {
      const answer = await connection.post("/v1/vectors/upsert", `${open}${texts.join(",")}]}`, signal);
      const { stored, unchanged, deleted } = decodeUpsertResult(answer);
      total.stored += stored;
      total.unchanged += unchanged;
      total.deleted += deleted;
    } catch (error) {
      // The operator has set a lower limit.
      if (isTooLarge(error) && texts.length > 1 && !isWhole) {
        const half = Math.ceil(texts.length / 2);
        await send(texts.slice(0, half), start);
        return send(texts.slice(half), start + half);
      }
      // The service counts the items of one request, the caller those of the whole call.
      throw start === 0 ? error : shiftPosition(error, (i) => `items[${i + start}]`);
    }
  };
  let texts: string[] = [];
  let bytes = 0;
  for (const [i, item] of encoded.entries()) {
    const text = jsonText(item, `items[${i}]`);
    const length = utf8Length(text) + ",".length;
    if (texts.length === itemsMax || (texts.length > 0 && bytes + length > room)) {
      if (isWhole) throw tooLarge();
      await send(texts, i - texts.length);
      texts = [];
      bytes = 0;
    }
    texts.push(text);
    bytes += length;
  }
  await send(texts, items.length - texts.length);
  return total;
}

function tooLarge(): SealdexError {
  return new SealdexError(
    "too_large",
    `items: expected at most ${itemsMax} items and ${bodyBytesMax} bytes of JSON with deleteFilter, got more`,
  );
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
