/** Lists issued API keys as JSON, in pages, within the limits of results. */

import { yieldIfDue } from "sealdex/wire";
import type { KeyRecord } from "../access/key-record.js";
import type { KeyStore } from "../access/key-store.js";
import type { ReadLimits } from "../http/results.js";

/** Paging of a request. */
export interface PageQuery {
  readonly limit?: string;
  readonly after?: string;
}

/** Encodes some records, in the order of their ids; may skip some. */
type Encode = (records: readonly KeyRecord[]) => readonly object[] | Promise<readonly object[]>;

/** Memory of a text besides two bytes per character. */
const textBytes = 100;

/** The JSON of each entry. Throws `too_large` if there are too many for one response. */
export async function keyTexts(
  store: KeyStore,
  { limit, after }: PageQuery,
  { signal, reserveBytes }: ReadLimits,
  encode: Encode,
): Promise<readonly string[]> {
  const wanted = limit === undefined ? Infinity : Number(limit);
  const texts: string[] = [];
  if (wanted === 0) return texts;
  for await (const { records } of store.pages({ after, limit: wanted, signal })) {
    signal.throwIfAborted();
    for (const entry of await encode(records)) {
      const text = JSON.stringify(entry);
      await reserveBytes(textBytes + 2 * text.length);
      if (texts.push(text) === wanted) return texts;
      await yieldIfDue();
    }
  }
  return texts;
}
