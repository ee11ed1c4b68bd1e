/** Fields of rows, read from their segments. */

import { decodeContents, recordId, recordMetadata } from "../segment/row.js";
import type { ItemField, StoredItem } from "../vector-index.js";
import { bySegment, type RowPlace } from "./snapshot.js";

/** The items at these places, in their order, with the fields asked for. */
export async function readItems(
  places: readonly RowPlace[],
  include: ReadonlySet<ItemField>,
): Promise<StoredItem[]> {
  const items: StoredItem[] = Array.from({ length: places.length });
  const numbered = places.map((place, at) => ({ ...place, at }));
  const reads = Array.from(bySegment(numbered), async ([{ reader }, group]) => {
    const rows = group.map(({ row }) => row);
    const [records, contents, vectors] = await Promise.all([
      reader.records(rows),
      include.has("contents") ? reader.contents(rows) : undefined,
      include.has("vector") || include.has("decoded") ? reader.vectors(rows) : undefined,
    ]);
    group.forEach(({ at }, i) => {
      const text = contents?.[i];
      items[at] = {
        id: recordId(records[i]),
        ...(vectors && include.has("vector") && { vector: vectors[i] }),
        ...(vectors && include.has("decoded") && { decoded: vectors[i] }),
        ...(text && { contents: decodeContents(text) }),
        ...(include.has("metadata") && { metadata: recordMetadata(records[i]) }),
      };
    });
  });
  await Promise.all(reads);
  return items;
}
