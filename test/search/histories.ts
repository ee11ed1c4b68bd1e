/** Histories of writes that suites of searches share. */

import type { OpenSegment } from "../../src/search/snapshot.js";
import { recordId } from "../../src/segment/row.js";
import type { Opened } from "../protocol/open.js";

export const named = (start: number, end: number) =>
  Array.from({ length: end - start }, (_, i) => `${start + i}`);
export const itemsOf = (ids: readonly string[]) => ids.map((id, i) => ({ id, vector: [i, 1] }));

/** The ids of the rows of a segment. */
export async function idsOf({ reader }: OpenSegment): Promise<string[]> {
  const { rows } = reader.footer;
  if (rows === 0) return [];
  return (await reader.records(Array.from({ length: rows }, (_, i) => i))).map(recordId);
}

/** Writes that were made one after another: what each stored and deleted. */
export interface Write {
  readonly stored: readonly string[];
  readonly deleted: readonly string[];
}

export async function write({ index }: Opened, { stored, deleted }: Write): Promise<void> {
  if (stored.length > 0) await index.upsert(itemsOf(stored));
  if (deleted.length > 0) await index.delete({ ids: deleted });
}
