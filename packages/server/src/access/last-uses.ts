/**
 * When each API key was last used, without a write per request: a process remembers every use, and writes the time of a key
 * that is in use every few minutes, and when it stops. docs/internals/format.md §8.
 */

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import type { BlobStore } from "sealdex/core";
import { deriveKey } from "./root-key.js";

/** How often the last use of a key is written, at most, by each process. */
export const writeMs = 10 * 60 * 1000;
/** How long storage may take to write one: a service that stops does not wait for longer. */
const storageMsMax = 5000;
/** An id and its times take about 200 bytes. */
const knownMax = 10_000;
/** Names that are listed at a time. */
const namesPerPage = 1000;
/** How many are read or written at once. */
const callsMax = 16;
const label = "sealdex-server/1/api-key-use";
const prefix = "keyuses/";
/** A time is a safe integer; names have its distance from the largest, so that the newest is the first of a list. */
const timeMax = Number.MAX_SAFE_INTEGER;

interface Use {
  at: number;
  /** The time that this process has written last, and when it began to. */
  written: number | undefined;
  triedAt: number;
}

export class LastUses {
  readonly #store: BlobStore;
  readonly #key: KeyObject;
  readonly #now: () => number;
  /** By the id of the API key, least recently used first. */
  readonly #uses = new Map<string, Use>();
  readonly #due = new Set<string>();
  #writing: Promise<void> | undefined;

  /** `store`: of the configuration location. `now`: milliseconds since 1970. */
  constructor(store: BlobStore, rootKey: string, now: () => number) {
    this.#store = store;
    this.#key = deriveKey(rootKey, label);
    this.#now = now;
  }

  /** Remembers that the key is used now. Awaits nothing. */
  note(id: string): void {
    const at = this.#now();
    const use = this.#uses.get(id) ?? { at, written: undefined, triedAt: -Infinity };
    use.at = at;
    this.#uses.delete(id);
    this.#uses.set(id, use);
    const [oldest] = this.#uses.keys();
    if (this.#uses.size > knownMax) this.#uses.delete(oldest);
    // A clock that was set back says nothing about the age.
    if (Math.abs(at - use.triedAt) >= writeMs) void this.#write([id]);
  }

  /**
   * Of these keys, in the order of their ids: milliseconds since 1970, by this process to the moment, by others to within
   * `writeMs`. A key that was not used has none.
   */
  async list(ids: readonly string[]): Promise<Map<string, number>> {
    const times = new Map<string, number>();
    for (const id of ids) {
      const use = this.#uses.get(id);
      if (use !== undefined) times.set(id, use.at);
    }
    await inGroups([...(await this.#newestNames(ids))], async ([id, name]) => {
      const at = await this.#read(name);
      if (at !== undefined) times.set(id, Math.max(at, times.get(id) ?? 0));
    });
    return times;
  }

  /** The names of the newest uses of these keys, in the order of their ids. */
  async #newestNames(ids: readonly string[]): Promise<Map<string, string>> {
    const newest = new Map<string, string>();
    const wanted = new Set(ids);
    const last = ids.at(-1) ?? "";
    let after = `${prefix}${ids[0]}`;
    for (let isMore = ids.length > 0; isMore;) {
      const names = await this.#store.list(prefix, { after, limit: namesPerPage });
      for (const name of names) {
        const { id = "" } = parseName(name) ?? {};
        if (id > last) return newest;
        if (wanted.has(id) && !newest.has(id)) newest.set(id, name);
      }
      isMore = names.length === namesPerPage;
      after = names.at(-1) ?? "";
    }
    return newest;
  }

  /** Forgets a key, here and in storage. */
  async forget(id: string): Promise<void> {
    this.#uses.delete(id);
    await this.#store.delete(await this.#store.list(`${prefix}${id}/`));
  }

  /** Writes what is not written yet. Never rejects. */
  async close(): Promise<void> {
    await this.#write(Array.from(this.#uses.keys()));
  }

  /** Resolves once these are written, or could not be: that is tried again when they are due the next time. */
  #write(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#due.add(id);
    this.#writing ??= this.#writeDue().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeDue(): Promise<void> {
    while (this.#due.size > 0) {
      const ids = [...this.#due].slice(0, callsMax);
      for (const id of ids) this.#due.delete(id);
      await Promise.all(ids.map((id) => this.#writeOne(id).catch(() => undefined)));
    }
  }

  async #writeOne(id: string): Promise<void> {
    const use = this.#uses.get(id);
    if (use === undefined || use.written === use.at) return;
    const { at, written } = use;
    use.triedAt = at;
    const name = nameOf(id, at);
    const options = { signal: AbortSignal.timeout(storageMsMax) };
    await this.#store.create(name, this.#mac(name), options);
    use.written = at;
    // After a restart, what earlier processes have left is deleted as well.
    const older =
      written === undefined ? await this.#store.list(`${prefix}${id}/`, options) : [nameOf(id, written)];
    await this.#store.delete(
      older.filter((other) => other > name),
      options,
    );
  }

  async #read(name: string): Promise<number | undefined> {
    const expected = this.#mac(name);
    const mac = await this.#store.read(name, { offset: 0, length: expected.length + 1 });
    if (mac?.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined;
    return parseName(name)?.at;
  }

  #mac(name: string): Buffer {
    return createHmac("sha256", this.#key).update(name).digest();
  }
}

function nameOf(id: string, at: number): string {
  return `${prefix}${id}/${String(timeMax - at).padStart(16, "0")}`;
}

function parseName(name: string): { readonly id: string; readonly at: number } | undefined {
  const [, id, digits] = /^keyuses\/([0-9a-f]{16})\/(\d{16})$/.exec(name) ?? [];
  return id === undefined ? undefined : { id, at: timeMax - Number(digits) };
}

async function inGroups<T>(list: readonly T[], work: (element: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < list.length; start += callsMax) {
    await Promise.all(list.slice(start, start + callsMax).map(work));
  }
}
