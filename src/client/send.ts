/** Sends upserts in as many requests as needed, in base64 if the service accepts it. */

import { asksForProfile } from "../api/profiled-query.js";
import type {
  Item,
  Match,
  OpenIndexOptions,
  QueryProfile,
  UpsertOptions,
  UpsertResult,
} from "../api/vector-index.js";
import { invalid, isArray, jsonText } from "../checks/input.js";
import { renamePlace, SealdexError, shiftPosition } from "../errors.js";
import type { Connection } from "./connection.js";
import {
  bodyBytesMax,
  decodeProfile,
  decodeResults,
  decodeUpsertResult,
  encodeItem,
  encodeUpsertOptions,
  foreign,
  itemsMax,
  type QueryBody,
  queryForms,
  upsertForms,
  utf8Length,
} from "./wire/wire.js";

type Form = ReturnType<typeof upsertForms>["json"];
type QueryForm = NonNullable<ReturnType<typeof queryForms>>["json"];

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
      if (isWhole) {
        const limits = `${itemsMax} items and ${bodyBytesMax} bytes of JSON with deleteFilter`;
        throw new SealdexError("too_large", `items: expected at most ${limits}, got more`);
      }
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

// Sends queries in as many requests as needed, in base64 if the service accepts it.

/** One list of matches per vector; a single list without several vectors. The profiles of the requests, if the query asks for them. */
export async function sendQuery(
  connection: Connection,
  body: QueryBody,
  { isBatch, signal }: { readonly isBatch: boolean; readonly signal: AbortSignal | undefined },
): Promise<{ readonly lists: Match[][]; readonly profiles: readonly QueryProfile[] }> {
  const profiles: QueryProfile[] = [];
  const post: PostQuery = async (route, part, count) => {
    const text = jsonText(part, "request");
    const answer = await connection.post(`/v1/vectors/${route}`, text, { signal, isIdempotent: true });
    const lists = decodeResults(answer, count !== undefined);
    if (lists.length !== (count ?? 1)) throw foreign();
    if (asksForProfile(body)) profiles.push(decodeProfile(answer));
    return lists;
  };
  return { lists: await sendForms(connection, body, isBatch, post), profiles };
}

/** `count`: the number of vectors of a batch. */
type PostQuery = (route: string, part: object, count?: number) => Promise<Match[][]>;

async function sendForms(
  connection: Connection,
  body: QueryBody,
  isBatch: boolean,
  post: PostQuery,
): Promise<Match[][]> {
  const forms = queryForms(body, isBatch);
  if (forms === undefined) return post("query", body);
  const { vectors, json, binary } = forms;
  const send = (route: string, { together, bodyOf }: QueryForm) =>
    inBatches(vectors, together, (part) => post(route, bodyOf(part), part.length)).catch((error: unknown) => {
      throw isBatch ? error : renamePlace(error, /^queryVectors\[0\]/, "queryVector");
    });
  const sendJson = () => (isBatch ? send("query", json) : post("query", body));
  if (binary === undefined) return sendJson();
  return connection.binaryRoutes.use(() => send("query_binary", binary), sendJson);
}

// Splits calls that are too large for one request.

/**
 * Sends consecutive parts of the list, at most `lengthMax` long, and returns their results in
 * order. A part that the service refuses as `too_large` is halved; a part of length 1 fails with
 * that error. Errors name positions in the whole list.
 */
export async function inBatches<T, R>(
  list: readonly T[],
  lengthMax: number,
  send: (part: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0, length = lengthMax; start < list.length;) {
    const part = list.slice(start, start + length);
    try {
      for (const result of await send(part)) results.push(result);
      start += part.length;
    } catch (error) {
      if (!isTooLarge(error) || part.length === 1) {
        throw renamePlace(error, /^(\w+)\[(\d+)\]/, (_, name, i) => `${name}[${start + Number(i)}]`);
      }
      length = Math.ceil(part.length / 2);
    }
  }
  return results;
}

export function isTooLarge(error: unknown): boolean {
  return error instanceof SealdexError && error.code === "too_large";
}
