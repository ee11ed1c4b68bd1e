/** A random sample of the items of an index. */

import type { Metadata } from "sealdex/client";
import type { Opened } from "./opened.js";

/** From how many ids is drawn: the first of an index that has more. */
export const idsMax = 20_000;

export interface Sampled {
  readonly id: string;
  /** What the index's codes say of the vector: the vector itself if the index keeps it. */
  readonly decoded: Float32Array;
  readonly metadata: Metadata;
}

/** At most `size` items, no item twice. */
export async function sample({ index }: Opened, size: number): Promise<Sampled[]> {
  const ids = await index.listIds({ limit: idsMax });
  const drawn = Math.min(size, ids.length);
  for (let i = 0; i < drawn; i++) {
    const other = i + Math.floor(Math.random() * (ids.length - i));
    [ids[i], ids[other]] = [ids[other], ids[i]];
  }
  return index.get(ids.slice(0, drawn), { include: ["decoded", "metadata"] });
}
