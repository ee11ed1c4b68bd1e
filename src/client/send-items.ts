/** Sends upserts in as many requests as needed, in base64 if the service accepts it. */

import { invalid, isArray } from "../check-input.js";
import { SealdexError, shiftPosition } from "../errors.js";
import type { Item, OpenIndexOptions, UpsertOptions, UpsertResult } from "../vector-index.js";
import {
  bodyBytesMax,
  decodeUpsertResult,
  encodeItem,
  encodeUpsertOptions,
  itemsMax,
  upsertForms,
  utf8Length,
} from "../wire.js";
import type { Connection } from "./connection.js";
import { isTooLarge } from "./in-batches.js";

type Form = ReturnType<typeof upsertForms>["json"];

/**
 * Sends the items in as many requests as needed. All items are checked as far as possible before
 * the first request.
 */
export async function sendItems(
  connection: Connection,
  address: OpenIndexOptions,
  items: readonly Item[],
  options: UpsertOptions,
): Promise<UpsertResult> {
  const conditions = encodeUpsertOptions(options);
  if (!isArray(items)) throw invalid("items: expected an array");
  const encoded = Array.from(items, (item, i) => encodeItem(item, `items[${i}]`));
  const { json, binary } = upsertForms(address, conditions, encoded);
  const send = (form: Form) => sendForm(connection, form, items.length, options);
  return binary === undefined
    ? send(json)
    : connection.binaryRoutes.use(
        () => send(binary),
        () => send(json),
      );
}

async function sendForm(
  connection: Connection,
  form: Form,
  count: number,
  { deleteFilter, skipUnchanged, signal }: UpsertOptions,
): Promise<UpsertResult> {
  // Several requests would not replace the deleted items atomically.
  const isWhole = (deleteFilter ?? undefined) !== undefined;
  // A repeated condition could be evaluated against changed items.
  const isIdempotent = !isWhole && !skipUnchanged;
  const total = { stored: 0, unchanged: 0, deleted: 0 };
  const send = async (texts: readonly (readonly string[])[], start: number): Promise<void> => {
    try {
      const answer = await connection.post(form.path, form.bodyOf(texts, start), { signal, isIdempotent });
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
      // Converts the item's position in the request to that in the call.
      throw start === 0 ? error : shiftPosition(error, (i) => `items[${i + start}]`);
    }
  };
  const room = bodyBytesMax - form.emptyBytes;
  let texts: (readonly string[])[] = [];
  let bytes = 0;
  for (let i = 0; i < count; i++) {
    const itemTexts = form.textsOf(i);
    const length = itemTexts.reduce((sum, text) => sum + utf8Length(text), form.itemBytes);
    if (texts.length === itemsMax || (texts.length > 0 && bytes + length > room)) {
      if (isWhole) throw tooLarge();
      await send(texts, i - texts.length);
      texts = [];
      bytes = 0;
    }
    texts.push(itemTexts);
    bytes += length;
  }
  await send(texts, count - texts.length);
  return total;
}

function tooLarge(): SealdexError {
  return new SealdexError(
    "too_large",
    `items: expected at most ${itemsMax} items and ${bodyBytesMax} bytes of JSON with deleteFilter, got more`,
  );
}
