/**
 * The last use of each API key, without a write per request: a process remembers every use, and
 * writes the time of a used key every few minutes, and when it stops. docs/internals/format.md §8.
 */

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import type { BlobStore } from "sealdex/core";
import { deriveKey } from "./root-key.js";

/** Shortest interval between writes for a key, per process. */
export const writeMs = 10 * 60 * 1000;
/** Time limit of a write, so that stopping does not take longer. */
const storageMsMax = 5000;
/** An entry takes about 200 bytes. */
const knownMax = 10_000;
/** Names per page of a list. */
const namesPerPage = 1000;
/** Concurrent reads or writes. */
const callsMax = 16;
const label = "sealdex-server/1/api-key-use";
const prefix = "keyuses/";
/**
 * Names have the distance of a time from the largest safe integer, so that the newest comes first
 * in a list.
 */
const timeMax = Number.MAX_SAFE_INTEGER;

interface Use {
  at: number;
  /** The time last written by this process, and when it started to. */
  written: number | undefined;
  triedAt: number;
}

export class LastUses {
  readonly #store: BlobStore;
  readonly #key: KeyObject;
  readonly #now: () => number;
  /** By id of the API key, least recently used first. */
  readonly #uses = new Map<string, Use>();
  readonly #due = new Set<string>();
  #writing: Promise<void> | undefined;

  /** `store`: of the configuration location. `now`: milliseconds since 1970. */
  constructor(store: BlobStore, rootKey: string, now: () => number) {
    this.#store = store;
    this.#key = deriveKey(rootKey, label);
    this.#now = now;
  }

  /** Notes a use. Synchronous. */
  note(id: string): void {
    const at = this.#now();
    const use = this.#uses.get(id) ?? { at, written: undefined, triedAt: -Infinity };
    use.at = at;
    this.#uses.delete(id);
    this.#uses.set(id, use);
    const [oldest] = this.#uses.keys();
    if (this.#uses.size > knownMax) this.#uses.delete(oldest);
    // If the clock was set back, the age is unknown.
    if (Math.abs(at - use.triedAt) >= writeMs) void this.#write([id]);
  }

  /**
   * Last uses of these keys in milliseconds since 1970: exact for this process, within `writeMs`
   * for others. Unused keys have none.
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

  /** Names of the newest uses of these keys. */
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

  /** Writes unwritten uses. Never rejects. */
  async close(): Promise<void> {
    await this.#write(Array.from(this.#uses.keys()));
  }

  /** Resolves once these are written or have failed; failed ones are written when next due. */
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
    // After a restart, also deletes the names of earlier processes.
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
