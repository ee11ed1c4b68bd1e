/**
 * Moves an index to another embedding model: its contents are stored again in a second index, under
 * vectors of the new model. The old index remains in use, and the caller deletes it.
 */

import { optionNames, takeOptions } from "../../checks/option-names.js";
import { namespaceBatches } from "./ingest.js";
import type { CallOptions, Item, NamespaceOption, VectorIndex } from "../vector-index.js";

/** Options of `reembed`. */
export interface ReembedOptions extends CallOptions {
  /** Only read. */
  readonly from: VectorIndex;
  /** An index with an embedding model. Items that it already has are skipped. */
  readonly to: VectorIndex;
  /** Called after each batch. */
  readonly onProgress?: (progress: ReembedProgress) => void;
}

/** Progress of `reembed`. */
export interface ReembedProgress {
  /** Items processed so far, in the order of their ids. */
  readonly done: number;
  readonly total: number;
}

const batchItems = 500;

const options = optionNames<ReembedOptions>("reembed", {
  from: true,
  to: true,
  onProgress: true,
  signal: true,
});

/**
 * Stores the contents and metadata of every item of `from` in `to`, which embeds the contents, with
 * the same namespace and expiry. Items without contents keep their vector. Returns the number of
 * stored items. After a failure or an abort, repeat the call to resume. Concurrent writes to `from`
 * may be missed: call it again when they have ended; existing items are not updated.
 */
export async function reembed(request: ReembedOptions): Promise<number> {
  request = takeOptions(request, options);
  const { from, to, onProgress, signal } = request;
  const call = { ...(signal && { signal }) };
  const ids = await from.listIds(call);
  let stored = 0;
  for (let start = 0; start < ids.length; start += batchItems) {
    const batch = ids.slice(start, start + batchItems);
    const known = new Set((await to.get(batch, { include: [], ...call })).map(nameOf));
    const listed = await from.get(batch, { include: [], ...call });
    const absent = new Set(listed.filter((item) => !known.has(nameOf(item))).map(({ id }) => id));
    const read = await from.get([...absent], { include: ["contents", "metadata"], ...call });
    const missing = read.filter((item) => !known.has(nameOf(item)));
    const bare = missing.filter(({ contents }) => contents === undefined).map(({ id }) => id);
    const vectors = await vectorsOf(from, bare, call);
    for (const { namespace, items: own } of namespaceBatches(missing)) {
      const items: Item[] = own.map(({ id, contents, metadata, expiresAt }) => {
        const vector = vectors.get(nameOf({ id, namespace }));
        return { id, metadata, expiresAt, ...(contents !== undefined ? { contents } : vector && { vector }) };
      });
      await to.upsert(items, { ...call, ...(namespace !== undefined && { namespace }) });
      stored += items.length;
    }
    onProgress?.({ done: start + batch.length, total: ids.length });
  }
  return stored;
}

async function vectorsOf(
  index: VectorIndex,
  ids: readonly string[],
  call: CallOptions,
): Promise<ReadonlyMap<string, Float32Array>> {
  if (ids.length === 0) return new Map();
  const items = await index.get(ids, { include: ["vector"], ...call });
  return new Map(items.map((item) => [nameOf(item), item.vector]));
}

function nameOf({ namespace, id }: NamespaceOption & { readonly id: string }): string {
  return JSON.stringify([namespace, id]);
}
