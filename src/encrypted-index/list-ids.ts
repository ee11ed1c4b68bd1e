/** Lists the ids of live items, in the order of string comparison. */

import { recordId } from "../segment/row.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";
import type { ListIdsOptions } from "../vector-index.js";
import type { OpenIndex } from "./open-index.js";

/** Ids that are sorted at a time: a few milliseconds. */
const sortedTogether = 8192;
/** What an id takes in memory besides its characters. */
const idBytes = 64;

/** At most `limit` ids after `after`. Reads the records of the whole index, and holds about twice as many ids. */
export async function listIds(
  index: OpenIndex,
  { limit = Infinity, after, signal, reserveBytes }: ListIdsOptions,
): Promise<string[]> {
  return index.snapshots.read(async (snapshot) => {
    let smallest: readonly string[] = [];
    let found: string[] = [];
    let held = 0;
    let seen = 0;
    let characters = 0;
    for await (const records of snapshot.liveRecords()) {
      signal?.throwIfAborted();
      for (const record of records) {
        const id = recordId(record);
        if (after !== undefined && id <= after) continue;
        if (smallest.length >= limit && id > smallest[smallest.length - 1]) continue;
        found.push(id);
        characters += id.length;
        seen++;
      }
      if (found.length >= limit) {
        smallest = (await merge(smallest, await sorted(found))).slice(0, limit);
        found = [];
      }
      // Ids that take the places of others need no room of their own.
      const count = smallest.length + found.length;
      if (count <= held) continue;
      await reserveBytes?.(Math.ceil((count - held) * (idBytes + characters / seen)));
      held = count;
    }
    return (await merge(smallest, await sorted(found))).slice(0, limit);
  });
}

/** Sorts in pieces, other work of the process in between. */
async function sorted(ids: readonly string[]): Promise<readonly string[]> {
  let runs: (readonly string[])[] = [];
  for (let start = 0; start < ids.length; start += sortedTogether) {
    runs.push(ids.slice(start, start + sortedTogether).sort());
    await yieldIfDue();
  }
  while (runs.length > 1) {
    const longer: (readonly string[])[] = [];
    for (let i = 0; i < runs.length; i += 2) longer.push(await merge(runs[i], runs[i + 1] ?? []));
    runs = longer;
  }
  return runs[0] ?? [];
}

async function merge(a: readonly string[], b: readonly string[]): Promise<readonly string[]> {
  if (a.length === 0 || b.length === 0) return a.length === 0 ? b : a;
  const merged: string[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    merged.push(j >= b.length || (i < a.length && a[i] <= b[j]) ? a[i++] : b[j++]);
    if (merged.length % sortedTogether === 0) await yieldIfDue();
  }
  return merged;
}
