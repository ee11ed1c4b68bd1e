/** Lists items by filter, page by page, all pages of one state of the index. */

import { createHash } from "node:crypto";
import type { Manifest } from "../../state/commit/manifest.js";
import { invalid, typeName } from "../../checks/input.js";
import { SealdexError } from "../../errors.js";
import { handleOf } from "../../state/commit/namespaces.js";
import { fingerprintsIn } from "../../query/snapshot/find-rows.js";
import { keyAt, type OrderField } from "./order-key.js";
import { readItems, readSome } from "../../query/read-items.js";
import type { HeldSnapshot } from "../../query/snapshot/open-snapshots.js";
import type { Snapshot } from "../../query/snapshot/snapshot.js";
import { run } from "../../engine/threads/run.js";
import type { ItemPage, StoredItem } from "../../api/vector-index.js";
import type { CompiledFilter } from "../../api/filter/compile.js";
import { fingerprintsOf } from "../open/fingerprints.js";
import { type CheckedFields, keptFields } from "../open/available-fields.js";
import type { OpenIndex } from "../open/open-index.js";
import { type OrderPosition, orderedRows } from "./ordered-rows.js";
import { rowsById, type RowWithId } from "./rows-by-id.js";
import { plainResults } from "../../api/served-index.js";

/** A page ends with the item that reaches this. */
const pageBytes = 16 * 1024 * 1024;

export interface CheckedListing extends CheckedFields {
  /** Undefined: by id. */
  readonly order?: readonly OrderField[] | undefined;
  readonly filter?: CompiledFilter | undefined;
  readonly limit: number;
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where a page ends: the state of the index, and the last id. */
export interface Cursor {
  readonly version: number;
  readonly state: string;
  readonly after: string;
  /** The handle of the namespace of the last item, if it is in one. */
  readonly namespace?: string | undefined;
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
  const next = { ...listing, after: cursor.after, afterIn: cursor.namespace };
  const newest = await index.snapshots.newest();
  if (stateOf(newest.manifest) === cursor.state) {
    return withoutGap(index, newest, () => readPage(index, newest, next));
  }
  const manifest = await index.log.manifestAt(cursor.version);
  if (manifest === null || stateOf(await index.snapshots.select(manifest)) !== cursor.state) throw gone();
  const { snapshot, release } = await index.snapshots.hold(manifest).catch(async (error: unknown) => {
    throw (await index.snapshots.wasSuperseded(manifest, error)) ? gone() : error;
  });
  try {
    return await withoutGap(index, snapshot, () => readPage(index, snapshot, next));
  } finally {
    release();
  }
}

/** All items, read page by page, of the snapshot that is the newest when the first one is asked for. */
export async function* listEach(
  index: OpenIndex,
  listing: CheckedListing,
  during: <T>(work: () => Promise<T>) => Promise<T>,
): AsyncGenerator<StoredItem, void, undefined> {
  let held: HeldSnapshot | undefined;
  try {
    let { after } = listing;
    for (;;) {
      const { items, last } = await during(async () => {
        if (held === undefined) {
          held = await index.snapshots.hold();
          index.listings.begin(held);
        }
        const { snapshot } = held;
        return withoutGap(index, snapshot, () => readItemsOfPage(index, snapshot, { ...listing, after }));
      });
      yield* items;
      if (last === undefined) return;
      after = last.id;
    }
  } finally {
    if (held !== undefined) {
      index.listings.end(held);
      held.release();
    }
  }
}

function encodeCursor({ version, state, after, namespace }: Cursor): string {
  const text = `${version}.${state}.${Buffer.from(after, "utf8").toString("base64url")}`;
  return namespace === undefined ? text : `${text}.${namespace}`;
}

/** Throws `invalid_request` unless it is a cursor. */
export function decodeCursor(text: unknown): Cursor | undefined {
  if (text === undefined) return undefined;
  const [, version, state, after, namespace] =
    (typeof text === "string"
      ? /^([1-9]\d{0,14})\.([\w-]{22})\.([\w-]{2,700})(?:\.([0-9a-f]{32}))?$/.exec(text)
      : null) ?? [];
  if (after === undefined) {
    const received = typeof text === "string" ? "another text" : typeName(text);
    throw invalid(`cursor: expected the cursor of the page before, got ${received}`);
  }
  const id = Buffer.from(after, "base64url").toString("utf8");
  return { version: Number(version), state, after: id, namespace };
}

/** `afterIn`: the handle of the namespace of the item `after`. */
type PageListing = CheckedListing & { readonly afterIn?: string | undefined };

async function readPage(index: OpenIndex, snapshot: Snapshot, listing: PageListing): Promise<ItemPage> {
  const { items, last } = await readItemsOfPage(index, snapshot, listing);
  if (last === undefined) return { items };
  const { manifest } = snapshot;
  const { namespace: id } = last.segment.ref;
  const namespace = id && handleOf(id);
  index.listings.noteCursor(index.indexId);
  const cursor = { version: manifest.version, state: stateOf(manifest), after: last.id, namespace };
  return { items, cursor: encodeCursor(cursor) };
}

async function readItemsOfPage(
  index: OpenIndex,
  snapshot: Snapshot,
  listing: PageListing,
): Promise<{ readonly items: StoredItem[]; readonly last?: RowWithId }> {
  const { limit, signal, results } = listing;
  const include = keptFields(index, snapshot, listing);
  const items: StoredItem[] = [];
  let last: RowWithId | undefined;
  let bytes = 0;
  const reserveBytes = async (more: number) => {
    bytes += more;
    await results.reserveBytes?.(more);
  };
  for await (const rows of await rowsOfPage(index, snapshot, listing)) {
    for (let start = 0; start < rows.length;) {
      // One more row shows whether there is another page. It does not begin with an id of this one, in another namespace.
      const isFull = items.length >= limit || bytes >= pageBytes;
      if (isFull && last !== undefined && rows[start].id !== last.id) return { items, last };
      signal?.throwIfAborted();
      const some: StoredItem[] = [];
      const refs = rows.slice(start, start + Math.max(1, limit - items.length));
      await run(readSome(some, refs, include, { ...results, reserveBytes }));
      for (const item of some) items.push(item);
      start += some.length;
      last = rows[start - 1];
    }
  }
  return { items };
}

/** In the order of the listing, as many as the page has and one more, if there are as many. */
async function rowsOfPage(
  index: OpenIndex,
  snapshot: Snapshot,
  { order, filter, after, afterIn, limit, signal }: PageListing,
): Promise<AsyncGenerator<readonly RowWithId[]>> {
  // The last id may be in each of the namespaces.
  const range = { filter, wanted: limit + Math.max(1, snapshot.namespaces.length), signal };
  if (order === undefined) return rowsById(snapshot, { ...range, after });
  const position =
    after === undefined
      ? undefined
      : await positionOf(index, snapshot, { id: after, namespace: afterIn }, order);
  return orderedRows(snapshot, { ...range, fields: order, after: position });
}

/** Where the item with this id is in an order. Throws `invalid_request` if the snapshot has none. */
async function positionOf(
  index: OpenIndex,
  snapshot: Snapshot,
  { id, namespace }: { readonly id: string; readonly namespace: string | undefined },
  order: readonly OrderField[],
): Promise<OrderPosition> {
  const [ref] = await snapshot.findStored(fingerprintsIn(namespace, await fingerprintsOf(index, [id])));
  if (ref === null) throw invalid("cursor: expected the cursor of the page before, got another text");
  const [{ metadata }] = await run(readItems([ref], new Set(["metadata"]), plainResults));
  return { id, keys: order.map(({ path }) => keyAt(metadata, path)) };
}

/** Identifies this state of the items among all states of all histories: by the segments' random names. */
function stateOf({ segments, shards = [] }: Manifest): string {
  const names = [...segments.map(({ name }) => name), ...shards.map(({ digest }) => digest)].join("\n");
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
    "listing: the state of the index that it shows was replaced, and is no longer stored; list again, " +
      "or from the last id on with after",
  );
}
