/** Fields of rows, read from their segments. */

import { decodeContents, recordId, recordMetadata } from "../segment/row.js";
import type { ItemField, StoredItem } from "../vector-index.js";
import { bySegment, type RowPlace } from "./snapshot.js";

/** What is stored of one row, as far as it was asked for. */
interface StoredRow {
  readonly record: Uint8Array;
  readonly contents?: Uint8Array | null;
  readonly vector?: Float32Array;
}

/** The items at these places, in their order, with the fields asked for. */
export async function readItems(
  places: readonly RowPlace[],
  include: ReadonlySet<ItemField>,
): Promise<StoredItem[]> {
  if (!include.has("contents") && !include.has("vector") && !include.has("decoded")) {
    // The warm case, which is to cost nothing: all records are open already.
    const records = places.map(({ segment, row }) => segment.reader.openedRecord(row));
    if (!records.includes(undefined)) {
      return records.map((record) => toItem({ record: record as Uint8Array }, include));
    }
  }
  const rows: StoredRow[] = Array.from({ length: places.length });
  const numbered = places.map((place, at) => ({ ...place, at }));
  const reads = Array.from(bySegment(numbered), async ([{ reader }, group]) => {
    const wanted = group.map(({ row }) => row);
    const [records, contents, vectors] = await Promise.all([
      reader.records(wanted),
      include.has("contents") ? reader.contents(wanted) : undefined,
      include.has("vector") || include.has("decoded") ? reader.vectors(wanted) : undefined,
    ]);
    group.forEach(({ at }, i) => {
      rows[at] = {
        record: records[i],
        ...(contents && { contents: contents[i] }),
        ...(vectors && { vector: vectors[i] }),
      };
    });
  });
  await Promise.all(reads);
  return rows.map((row) => toItem(row, include));
}

function toItem({ record, contents, vector }: StoredRow, include: ReadonlySet<ItemField>): StoredItem {
  const item: { -readonly [F in keyof StoredItem]: StoredItem[F] } = { id: recordId(record) };
  if (vector && include.has("vector")) item.vector = vector;
  if (vector && include.has("decoded")) item.decoded = vector;
  if (contents) item.contents = decodeContents(contents);
  if (include.has("metadata")) item.metadata = recordMetadata(record);
  return item;
}
