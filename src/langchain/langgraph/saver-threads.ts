/** The threads of a saver: reads their items, and stores items under the secret that their thread has. */

import { type GroupSecret, type ItemGroups, itemGroups, type MayHaveGroups } from "../../api/item-groups.js";
import type { VectorIndex } from "../../api/vector-index.js";
import { SealdexError } from "../../errors.js";
import { readStored } from "../stored-bytes.js";
import type { StoreIndex } from "../store-index.js";
import {
  checkpointsPrefix,
  chunkedId,
  type Contents,
  markerId,
  markerItem,
  openContents,
  saverRowOf,
  type SaverRow,
  sealedItems,
  within,
} from "./saver-rows.js";
import type { Value } from "./value-with-bytes.js";

const firstIds = 64;
const idsTogether = 1000;
/** Threads and secrets that are remembered: those that were used last. */
const rememberedMax = 10_000;

/** The ids of the items of a checkpoint. */
export interface CheckpointGroup {
  readonly id: string;
  readonly writes: readonly string[];
}

type FoundRow = SaverRow & { readonly contents?: string | undefined };

interface ThreadsOfIndex {
  readonly index: VectorIndex;
  readonly groups: ItemGroups;
  /** Secrets by id, and the one that new items of a thread get, both known to be in use while there are `erasures`. */
  readonly secrets: Map<string, GroupSecret>;
  readonly ofThreads: Map<string, GroupSecret>;
  erasures: number;
}

export class SaverThreads {
  readonly #store: StoreIndex;
  #threads: ThreadsOfIndex | undefined;

  constructor(store: StoreIndex) {
    this.#store = store;
  }

  /**
   * The checkpoints whose ids begin with a prefix, or are the prefix; with `first`, that one and those after it. Their ids are read as
   * far as they are asked for.
   */
  async *groups(prefix: string, first = prefix): AsyncGenerator<CheckpointGroup> {
    let group: { id: string; writes: string[] } | undefined;
    // The id itself comes first in its range, and a list begins after an id.
    let after = first.endsWith("~") ? first.slice(0, -1) : first;
    for (let limit = firstIds; ; limit = idsTogether) {
      const page = { after, limit, ...within };
      const ids = await this.#use(({ index }) => index.listIds(page));
      for (const id of ids) {
        // Of a longer id that begins as this one does.
        if (id < first) continue;
        if (!id.startsWith(prefix)) {
          if (group !== undefined) yield group;
          return;
        }
        const checkpoint = id.slice(0, id.indexOf("~") + 1);
        if (group?.id !== checkpoint) {
          if (group !== undefined) yield group;
          group = { id: checkpoint, writes: [] };
        }
        if (id !== checkpoint) group.writes.push(id);
      }
      if (ids.length < limit) break;
      after = ids[ids.length - 1];
    }
    if (group !== undefined) yield group;
  }

  /** The contents of items in their order; undefined for those that are not there. */
  async read(ids: readonly string[]): Promise<(Value | undefined)[]> {
    if (ids.length === 0) return [];
    return this.#use(async (threads) => {
      const rows = await readRows(threads.index, ids);
      return Promise.all(ids.map((id) => this.#contents(threads, id, rows.get(id))));
    });
  }

  /** Those of the ids that there are. */
  async present(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const found = await this.#use(({ index }) => index.get(ids, { include: [], ...within }));
    return found.map(({ id }) => id);
  }

  /** Stores items in one commit. */
  async store(thread: string, items: ReadonlyMap<string, Contents>): Promise<void> {
    if (items.size === 0) return;
    await this.#use(async (threads) => {
      const { groups, ofThreads } = threads;
      for (;;) {
        const erasures = await groups.erasures();
        const secret = await this.#secretOf(threads, thread, erasures);
        const sealed = [...items].flatMap(([id, contents]) => sealedItems(id, thread, secret, contents));
        try {
          if (await groups.upsert(sealed, { ...within, secret, erasures })) return;
        } catch (error) {
          // Perhaps the secret could not be stored.
          ofThreads.delete(thread);
          throw error;
        }
      }
    });
  }

  async delete(thread: string): Promise<void> {
    await this.#use(async ({ index, groups, ofThreads, secrets }) => {
      const found = new Set<string>();
      // A secret that another process has drawn since would survive.
      await groups.refresh();
      const [marker] = await index.get([markerId(thread)], { include: ["metadata"], ...within });
      for (const secret of (marker?.metadata.secrets ?? []) as readonly string[]) found.add(secret);
      const items = index.items({ filter: { thread }, include: ["metadata"], ...within });
      for await (const { metadata } of items) found.add(saverRowOf(metadata).secret);
      if (found.size === 0) return;
      const named = [...found];
      await groups.erase({
        ...within,
        filter: { thread, secret: { $in: named } },
        marker: markerItem(thread, named),
        secrets: named,
      });
      ofThreads.delete(thread);
      for (const id of named) secrets.delete(id);
    });
  }

  /** Throws `not_supported` for an index over HTTP. */
  #use<T>(work: (threads: ThreadsOfIndex) => Promise<T>): Promise<T> {
    return this.#store.use(({ index }) => {
      if (this.#threads?.index !== index) this.#threads = threadsOf(index);
      return work(this.#threads);
    });
  }

  /** The secret by which items of the thread can be sealed that are committed while there are this many erasures. */
  async #secretOf(threads: ThreadsOfIndex, thread: string, erasures: number): Promise<GroupSecret> {
    const { index, groups, ofThreads, secrets } = threads;
    if (erasures !== threads.erasures) {
      ofThreads.clear();
      secrets.clear();
      threads.erasures = erasures;
    }
    const known = ofThreads.get(thread);
    if (known !== undefined) return known;
    const prefix = checkpointsPrefix(thread);
    for (let missed: string | undefined; ;) {
      const [first] = await index.listIds({ after: prefix, limit: 1, ...within });
      const row = first?.startsWith(prefix) ? (await readRows(index, [first])).get(first) : undefined;
      const secret = row === undefined ? groups.draw() : await this.#secretNamed(threads, row.secret);
      if (secret === undefined) {
        // Unless the thread was deleted meanwhile.
        if (row?.secret === missed) throw secretIsGone();
        missed = row?.secret;
        continue;
      }
      // Another call of this process may have drawn one.
      const other = ofThreads.get(thread);
      if (other !== undefined) return other;
      remember(ofThreads, thread, secret);
      return secret;
    }
  }

  async #secretNamed({ groups, secrets }: ThreadsOfIndex, id: string): Promise<GroupSecret | undefined> {
    const known = secrets.get(id);
    if (known !== undefined) return known;
    const secret = await groups.read(id);
    if (secret !== undefined) remember(secrets, id, secret);
    return secret;
  }

  /** Throws `missing_object` if the item is there and its secret is not. */
  async #contents(
    threads: ThreadsOfIndex,
    id: string,
    row: FoundRow | undefined,
  ): Promise<Value | undefined> {
    const readAgain = async () => (await readRows(threads.index, [id])).get(id);
    const read = await readStored(threads.index, chunkedId(id), row, readAgain, within);
    if (read === undefined) return undefined;
    const secret = await this.#secretNamed(threads, read.item.secret);
    if (secret !== undefined) return openContents(id, secret, read.item.contents, read.bytes);
    // The item of a thread that was deleted is gone before its secret is.
    if ((await readAgain())?.secret !== read.item.secret) return undefined;
    throw secretIsGone();
  }
}

function threadsOf(index: VectorIndex): ThreadsOfIndex {
  const groups = (index as VectorIndex & MayHaveGroups)[itemGroups]?.();
  if (groups !== undefined) return { index, groups, secrets: new Map(), ofThreads: new Map(), erasures: 0 };
  throw withoutLocations();
}

export function withoutLocations(): SealdexError {
  return new SealdexError(
    "not_supported",
    "EncryptedSaver: expected storage locations; a service keeps no secrets of threads",
  );
}

function secretIsGone(): SealdexError {
  return new SealdexError("missing_object", "EncryptedSaver: the secret of a thread is gone");
}

async function readRows(index: VectorIndex, ids: readonly string[]): Promise<Map<string, FoundRow>> {
  const found = await index.get(ids, { include: ["metadata", "contents"], ...within });
  return new Map(found.map(({ id, metadata, contents }) => [id, { ...saverRowOf(metadata), contents }]));
}

function remember(map: Map<string, GroupSecret>, key: string, secret: GroupSecret): void {
  map.set(key, secret);
  if (map.size <= rememberedMax) return;
  const [oldest] = map.keys();
  map.delete(oldest);
}
