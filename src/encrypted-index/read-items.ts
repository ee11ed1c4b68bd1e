/** Fields of rows, read from their segments. */

import { decodeContents, recordId, recordMetadata } from "../segment/row.js";
import type { ItemField, StoredItem } from "../vector-index.js";
import type { OpenSegment, RowPlace } from "./snapshot.js";

/** The items at these places, in their order, with the fields asked for. */
export async function readItems(
  places: readonly RowPlace[],
  include: ReadonlySet<ItemField>,
): Promise<StoredItem[]> {
  const items: StoredItem[] = Array.from({ length: places.length });
  const bySegment = new Map<OpenSegment, number[]>();
  places.forEach(({ segment }, at) => {
    const positions = bySegment.get(segment);
    if (positions === undefined) bySegment.set(segment, [at]);
    else positions.push(at);
  });
  const reads = Array.from(bySegment, async ([{ reader }, positions]) => {
    const rows = positions.map((at) => places[at].row);
    const [records, contents, vectors] = await Promise.all([
      reader.records(rows),
      include.has("contents") ? reader.contents(rows) : undefined,
      include.has("vector") ? reader.vectors(rows) : undefined,
    ]);
    positions.forEach((at, i) => {
      const text = contents?.[i];
      items[at] = {
        id: recordId(records[i]),
        ...(vectors && { vector: vectors[i] }),
        ...(text && { contents: decodeContents(text) }),
        ...(include.has("metadata") && { metadata: recordMetadata(records[i]) }),
      };
    });
  });
  await Promise.all(reads);
  return items;
}
