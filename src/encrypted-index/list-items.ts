/** Lists items by filter, page by page, all pages of one state of the index. */

import { createHash } from "node:crypto";
import type { Manifest } from "../commit/manifest.js";
import { invalid, typeName } from "../check-input.js";
import { SealdexError } from "../errors.js";
import { keyAt, type OrderField } from "../search/order-key.js";
import { readItems, readSome } from "../search/read-items.js";
import type { HeldSnapshot } from "../search/snapshots.js";
import type { Snapshot } from "../search/snapshot.js";
import type { ItemPage, StoredItem } from "../vector-index.js";
import type { CheckedListing } from "./check-request.js";
import { fingerprintsOf } from "./fingerprints.js";
import { keptFields } from "./kept-fields.js";
import type { OpenIndex } from "./open-index.js";
import { type OrderPosition, orderedRows } from "./ordered-rows.js";
import { rowsById, type RowWithId } from "./rows-by-id.js";

/** A page ends with the item that reaches this. */
const pageBytes = 16 * 1024 * 1024;

/** Where a page ends: the state of the index, and the last id. */
export interface Cursor {
  readonly version: number;
  readonly state: string;
  readonly after: string;
}

/** One page: of the state that the cursor names, or of the newest. */
export async function listItems(
  index: OpenIndex,
  listing: CheckedListing,
  cursor: Cursor | undefined,
): Promise<ItemPage> {
  if (cursor === undefined) {
    return index.snapshots.read((snapshot) => readPage(index, snapshot, listing));
  }
  const next = { ...listing, after: cursor.after };
  const newest = await index.snapshots.newest();
  if (stateOf(newest.manifest) === cursor.state) {
    return withoutGap(index, newest, () => readPage(index, newest, next));
  }
  const manifest = await index.log.manifestAt(cursor.version);
  if (manifest === null || stateOf(manifest) !== cursor.state) throw gone();
  const { snapshot, release } = await index.snapshots.hold(manifest).catch(async (error: unknown) => {
    throw (await index.snapshots.wasSuperseded(manifest, error)) ? gone() : error;
  });
  try {
    return await withoutGap(index, snapshot, () => readPage(index, snapshot, next));
  } finally {
    release();
  }
}

/** All items, page by page, of the snapshot that is the newest when the first one is asked for. */
export async function* listPages(
  index: OpenIndex,
  listing: CheckedListing,
  during: <T>(work: () => Promise<T>) => Promise<T>,
): AsyncGenerator<readonly StoredItem[], void, undefined> {
  let held: HeldSnapshot | undefined;
  try {
    let { after } = listing;
    for (;;) {
      const { items, isLast } = await during(async () => {
        held ??= await index.snapshots.hold();
        const { snapshot } = held;
        return withoutGap(index, snapshot, () => readItemsOfPage(index, snapshot, { ...listing, after }));
      });
      yield items;
      if (isLast) return;
      after = items[items.length - 1].id;
    }
  } finally {
    held?.release();
  }
}

function encodeCursor({ version, state, after }: Cursor): string {
  return `${version}.${state}.${Buffer.from(after, "utf8").toString("base64url")}`;
}

/** Throws `invalid_request` for what is not a cursor. */
export function decodeCursor(text: unknown): Cursor | undefined {
  if (text === undefined) return undefined;
  const [, version, state, after] =
    (typeof text === "string" ? /^([1-9]\d{0,14})\.([\w-]{22})\.([\w-]{2,700})$/.exec(text) : null) ?? [];
  if (after === undefined) {
    const received = typeof text === "string" ? "another text" : typeName(text);
    throw invalid(`cursor: expected the cursor of the page before, got ${received}`);
  }
  return { version: Number(version), state, after: Buffer.from(after, "base64url").toString("utf8") };
}

async function readPage(index: OpenIndex, snapshot: Snapshot, listing: CheckedListing): Promise<ItemPage> {
  const { items, isLast } = await readItemsOfPage(index, snapshot, listing);
  if (isLast) return { items };
  const { manifest } = snapshot;
  const after = items[items.length - 1].id;
  return { items, cursor: encodeCursor({ version: manifest.version, state: stateOf(manifest), after }) };
}

async function readItemsOfPage(
  index: OpenIndex,
  snapshot: Snapshot,
  listing: CheckedListing,
): Promise<{ readonly items: StoredItem[]; readonly isLast: boolean }> {
  const { limit, signal, results } = listing;
  const include = keptFields(index, snapshot, listing);
  const items: StoredItem[] = [];
  let bytes = 0;
  const reserveBytes = async (more: number) => {
    bytes += more;
    await results.reserveBytes?.(more);
  };
  for await (const rows of await rowsOfPage(index, snapshot, listing)) {
    for (let start = 0; start < rows.length;) {
      // One more row shows whether there is another page.
      if (items.length === limit || bytes >= pageBytes) return { items, isLast: false };
      signal?.throwIfAborted();
      const some: StoredItem[] = [];
      const refs = rows.slice(start, start + limit - items.length);
      await readSome(some, refs, include, { ...results, reserveBytes });
      for (const item of some) items.push(item);
      start += some.length;
    }
  }
  return { items, isLast: true };
}

/** In the order of the listing, as many as the page has and one more, if there are as many. */
async function rowsOfPage(
  index: OpenIndex,
  snapshot: Snapshot,
  { order, filter, after, limit, signal }: CheckedListing,
): Promise<AsyncGenerator<readonly RowWithId[]>> {
  const range = { filter, wanted: limit + 1, signal };
  if (order === undefined) return rowsById(snapshot, { ...range, after });
  const position = after === undefined ? undefined : await positionOf(index, snapshot, after, order);
  return orderedRows(snapshot, { ...range, fields: order, after: position });
}

/** Where the item with this id is in an order. Throws `invalid_request` if the snapshot has none. */
async function positionOf(
  index: OpenIndex,
  snapshot: Snapshot,
  id: string,
  order: readonly OrderField[],
): Promise<OrderPosition> {
  const [ref] = await snapshot.findStored(await fingerprintsOf(index, new Set([id])));
  if (ref === null) throw invalid("cursor: expected the cursor of the page before, got another text");
  const [{ metadata }] = await readItems([ref], new Set(["metadata"]), {});
  return { id, keys: order.map(({ path }) => keyAt(metadata, path)) };
}

/** What distinguishes this state of the items from every other one, of this history or of another: the segments' random names. */
function stateOf({ segments }: Manifest): string {
  const names = segments.map(({ name }) => name).join("\n");
  return createHash("sha256").update(names).digest().subarray(0, 16).toString("base64url");
}

/** The result of `work`, or `not_found` if objects of the snapshot were deleted since newer manifests dropped them. */
async function withoutGap<T>(index: OpenIndex, { manifest }: Snapshot, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw (await index.snapshots.wasSuperseded(manifest, error)) ? gone() : error;
  }
}

function gone(): SealdexError {
  return new SealdexError(
    "not_found",
    "listing: the state of the index that it shows was replaced more than 15 minutes ago and is no longer stored; list again, " +
      "or from the last id on with after",
  );
}
