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

export class SaverThreads {
  readonly #store: StoreIndex;
  /** Secrets by id, and the one that new items of a thread get, both known to be in use while there are `#erasures`. */
  readonly #secrets = new Map<string, GroupSecret>();
  readonly #ofThreads = new Map<string, GroupSecret>();
  #erasures = 0;

  constructor(store: StoreIndex) {
    this.#store = store;
  }

  /**
   * The checkpoints whose ids begin with a prefix, or are the prefix; with `first`, that one and those after it. Their ids are read as
   * far as they are asked for.
   */
  async *groups(prefix: string, first = prefix): AsyncGenerator<CheckpointGroup> {
    const { index } = await this.#open();
    let group: { id: string; writes: string[] } | undefined;
    // The id itself comes first in its range, and a list begins after an id.
    let after = first.endsWith("~") ? first.slice(0, -1) : first;
    for (let limit = firstIds; ; limit = idsTogether) {
      const ids = await index.listIds({ after, limit, ...within });
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
    const { index, groups } = await this.#open();
    const rows = await readRows(index, ids);
    return Promise.all(ids.map((id) => this.#contents(index, groups, id, rows.get(id))));
  }

  /** Those of the ids that there are. */
  async present(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const { index } = await this.#open();
    return (await index.get(ids, { include: [], ...within })).map(({ id }) => id);
  }

  /** Stores items in one commit. */
  async store(thread: string, items: ReadonlyMap<string, Contents>): Promise<void> {
    if (items.size === 0) return;
    const { index, groups } = await this.#open();
    for (;;) {
      const erasures = await groups.erasures();
      const secret = await this.#secretOf(index, groups, thread, erasures);
      const sealed = [...items].flatMap(([id, contents]) => sealedItems(id, thread, secret, contents));
      try {
        if (await groups.upsert(sealed, { ...within, secret, erasures })) return;
      } catch (error) {
        // Perhaps the secret could not be stored.
        this.#ofThreads.delete(thread);
        throw error;
      }
    }
  }

  async delete(thread: string): Promise<void> {
    const { index, groups } = await this.#open();
    const secrets = new Set<string>();
    // A secret that another process has drawn since would survive.
    await groups.refresh();
    const [marker] = await index.get([markerId(thread)], { include: ["metadata"], ...within });
    for (const secret of (marker?.metadata.secrets ?? []) as readonly string[]) secrets.add(secret);
    const items = index.items({ filter: { thread }, include: ["metadata"], ...within });
    for await (const { metadata } of items) secrets.add(saverRowOf(metadata).secret);
    if (secrets.size === 0) return;
    const named = [...secrets];
    await groups.erase({
      ...within,
      filter: { thread, secret: { $in: named } },
      marker: markerItem(thread, named),
      secrets: named,
    });
    this.#ofThreads.delete(thread);
    for (const id of named) this.#secrets.delete(id);
  }

  /** Throws `not_supported` for an index over HTTP. */
  async #open(): Promise<{ index: VectorIndex; groups: ItemGroups }> {
    const { index } = await this.#store.open();
    const groups = (index as VectorIndex & MayHaveGroups)[itemGroups]?.();
    if (groups !== undefined) return { index, groups };
    throw new SealdexError(
      "not_supported",
      "EncryptedSaver: expected storage locations; a service keeps no secrets of threads",
    );
  }

  /** The secret by which items of the thread can be sealed that are committed while there are this many erasures. */
  async #secretOf(
    index: VectorIndex,
    groups: ItemGroups,
    thread: string,
    erasures: number,
  ): Promise<GroupSecret> {
    if (erasures !== this.#erasures) {
      this.#ofThreads.clear();
      this.#secrets.clear();
      this.#erasures = erasures;
    }
    const known = this.#ofThreads.get(thread);
    if (known !== undefined) return known;
    const prefix = checkpointsPrefix(thread);
    for (let missed: string | undefined; ;) {
      const [first] = await index.listIds({ after: prefix, limit: 1, ...within });
      const row = first?.startsWith(prefix) ? (await readRows(index, [first])).get(first) : undefined;
      const secret = row === undefined ? groups.draw() : await this.#secretNamed(groups, row.secret);
      if (secret === undefined) {
        // Unless the thread was deleted meanwhile.
        if (row?.secret === missed) throw secretIsGone();
        missed = row?.secret;
        continue;
      }
      // Another call of this process may have drawn one.
      const other = this.#ofThreads.get(thread);
      if (other !== undefined) return other;
      remember(this.#ofThreads, thread, secret);
      return secret;
    }
  }

  async #secretNamed(groups: ItemGroups, id: string): Promise<GroupSecret | undefined> {
    const known = this.#secrets.get(id);
    if (known !== undefined) return known;
    const secret = await groups.read(id);
    if (secret !== undefined) remember(this.#secrets, id, secret);
    return secret;
  }

  /** Throws `missing_object` if the item is there and its secret is not. */
  async #contents(
    index: VectorIndex,
    groups: ItemGroups,
    id: string,
    row: FoundRow | undefined,
  ): Promise<Value | undefined> {
    const readAgain = async () => (await readRows(index, [id])).get(id);
    const read = await readStored(index, chunkedId(id), row, readAgain, within);
    if (read === undefined) return undefined;
    const secret = await this.#secretNamed(groups, read.item.secret);
    if (secret !== undefined) return openContents(id, secret, read.item.contents, read.bytes);
    // The item of a thread that was deleted is gone before its secret is.
    if ((await readAgain())?.secret !== read.item.secret) return undefined;
    throw secretIsGone();
  }
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
