/** Stores any number of items from a source that is read on demand. */

import { untilAborted } from "../../async/calls.js";
import { invalid, isVector, typeName } from "../../checks/input.js";
import { takeJson } from "../../checks/json-text.js";
import { optionNames, takeOptions } from "../../checks/option-names.js";
import { isDate } from "../../checks/value-kinds.js";
import { isImage, takeImage } from "../../embedding/image.js";
import { shiftPosition } from "../../errors.js";
import type { CallOptions, Item, NamespaceOption, VectorIndex } from "../vector-index.js";

export type IngestItem = Item & NamespaceOption;

/** Options of `ingest`. */
export interface IngestOptions extends CallOptions {
  readonly to: VectorIndex;
  /**
   * Items may have a namespace, like those of `VectorIndex.items`. Each batch is one upsert per
   * namespace.
   */
  readonly items: AsyncIterable<IngestItem> | Iterable<IngestItem>;
  /**
   * Items per upsert, 1 to 10,000. Default 1,000. A batch of large items ends earlier, after about
   * 16 MiB.
   */
  readonly batchSize?: number;
  /**
   * As for `upsert`: items already stored unchanged are neither embedded nor written. Default
   * false.
   */
  readonly skipUnchanged?: boolean;
  /** Called after each stored batch. */
  readonly onProgress?: (progress: IngestResult) => void;
}

/** Numbers of the items that `ingest` processed. */
export interface IngestResult {
  /** Items taken from the source and stored. */
  readonly items: number;
  readonly stored: number;
  /** Items that `skipUnchanged` skipped. */
  readonly unchanged: number;
}

const options = optionNames<IngestOptions>("ingest", {
  to: true,
  items: true,
  batchSize: true,
  skipUnchanged: true,
  onProgress: true,
  signal: true,
});

const batchItemsMax = 10_000;
const batchBytes = 16 * 1024 * 1024;

/**
 * Stores the items of a source in batches; each batch is one atomic `upsert` per namespace. While a
 * batch is stored, the next one is read, so the source is at most two batches ahead. After a
 * failure or an abort, reported batches stay stored and the source is closed; an abort does not wait
 * for the source. Throws like `upsert`, with the item's position in the source, and the source's own errors.
 */
export async function ingest(request: IngestOptions): Promise<IngestResult> {
  request = takeOptions(request, options);
  const { to, items: source, batchSize = 1000, skipUnchanged = false, onProgress, signal } = request;
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > batchItemsMax) {
    throw invalid(`batchSize: expected an integer from 1 to ${batchItemsMax}`);
  }
  if (!isIterable(source)) throw invalid(`items: expected an iterable of items, got ${typeName(source)}`);
  let result: IngestResult = { items: 0, stored: 0, unchanged: 0 };
  const store = async (batch: readonly IngestItem[]) => {
    let { stored, unchanged } = result;
    for (const { namespace, items, positions } of namespaceBatches(batch)) {
      const call = {
        skipUnchanged,
        ...(namespace !== undefined && { namespace }),
        ...(signal && { signal }),
      };
      const added = await to.upsert(items, call).catch((error: unknown) => {
        throw shiftPosition(error, (i) => `items[${positions[i] + result.items}]`);
      });
      stored += added.stored;
      unchanged += added.unchanged;
    }
    result = { items: result.items + batch.length, stored, unchanged };
    onProgress?.(result);
  };
  let storing: Promise<void> = Promise.resolve();
  const reading: AsyncIterator<readonly IngestItem[], undefined> = batches(source, batchSize);
  try {
    for (;;) {
      const { value: batch } = await untilAborted(reading.next(), signal);
      if (batch === undefined) break;
      await storing;
      signal?.throwIfAborted();
      storing = store(batch);
      // Awaited later; until then, a rejection must not count as unhandled.
      storing.catch(() => undefined);
    }
  } finally {
    const closed = reading.return?.().catch(() => undefined);
    // A source that does not answer would not close either.
    if (signal?.aborted !== true) await closed;
    await storing;
  }
  return result;
}

async function* batches(
  source: AsyncIterable<IngestItem> | Iterable<IngestItem>,
  size: number,
): AsyncGenerator<readonly IngestItem[], undefined> {
  let batch: IngestItem[] = [];
  let bytes = 0;
  let taken = 0;
  for await (const item of source) {
    batch.push(takeItem(item, `items[${taken++}]`));
    bytes += bytesOf(item);
    if (batch.length < size && bytes < batchBytes) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** An estimate for any value: `upsert` checks the item. */
function bytesOf(item: Partial<Item> | null): number {
  const { vector, contents } = item ?? {};
  return 4 * (vector?.length ?? 0) + (typeof contents === "string" ? contents.length : 0);
}

function isIterable(source: unknown): boolean {
  return (
    typeof source === "object" &&
    source !== null &&
    (Symbol.asyncIterator in source || Symbol.iterator in source)
  );
}

// Groups items by namespace, since an upsert has one namespace.

export interface NamespaceBatch<T> {
  readonly namespace: string | undefined;
  readonly items: readonly T[];
  /** Position of each item among all items. */
  readonly positions: readonly number[];
}

/** The items of each namespace, without the namespace's name. */
export function namespaceBatches<T extends object & NamespaceOption>(
  items: readonly T[],
): NamespaceBatch<Omit<T, "namespace">>[] {
  const byNamespace = new Map<string | undefined, { items: Omit<T, "namespace">[]; positions: number[] }>();
  for (const [position, item] of items.entries()) {
    // A copy of a non-object has no id, so the upsert refuses it.
    const { namespace, ...own } = { ...item };
    const batch = byNamespace.get(namespace) ?? { items: [], positions: [] };
    byNamespace.set(namespace, batch);
    batch.items.push(own);
    batch.positions.push(position);
  }
  return Array.from(byNamespace, ([namespace, batch]) => ({ namespace, ...batch }));
}

// Copies an item, since a source may reuse an object or buffer for the next one.

/**
 * Copies the item. Returns non-objects unchanged; storing refuses them. Throws `invalid_request`
 * for invalid metadata.
 */
export function takeItem<T extends Item & NamespaceOption>(item: T, where: string): T {
  if (typeof item !== "object" || item === null) return item;
  const { vector, contents, metadata, expiresAt } = item;
  return {
    ...item,
    ...(isVector(vector) && { vector: vector.slice() }),
    ...(isImage(contents) && { contents: takeImage(contents) }),
    ...((metadata ?? undefined) !== undefined && { metadata: takeJson(metadata, `${where}.metadata`) }),
    ...(isDate(expiresAt) && { expiresAt: new Date(expiresAt) }),
  };
}
