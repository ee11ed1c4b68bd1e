/**
 * The last use of each API key, without a write per request: a process remembers every use, and
 * writes the time of a used key every few minutes, and when it stops. docs/internals/format.md §8.
 */

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import type { BlobStore } from "sealdex/core";
import { deriveKey } from "./root-key.js";

/** Shortest interval between writes for a key, per process. */
const writeMs = 10 * 60 * 1000;
/** Time limit of a write, so that stopping does not take longer. */
const storageMsMax = 5000;
/** An entry takes about 200 bytes. */
const knownMax = 10_000;
/** Concurrent reads or writes. */
const callsMax = 16;
const label = "sealdex-server/1/api-key-use";
const prefix = "keyuses/";
/**
 * Names have the distance of a time from the largest safe integer, so that the newest comes first
 * in a list.
 */
const timeMax = Number.MAX_SAFE_INTEGER;
const timeDigits = 16;

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
    await inGroups(ids, async (id) => {
      const at = Math.max(await this.#newest(id), this.#uses.get(id)?.at ?? -Infinity);
      if (at > -Infinity) times.set(id, at);
    });
    return times;
  }

  /** The last use that a process has written; -Infinity if there is none. */
  async #newest(id: string): Promise<number> {
    const [name] = await this.#store.list(`${prefix}${id}/`, { limit: 1 });
    if (name === undefined) return -Infinity;
    const expected = this.#mac(name);
    const mac = await this.#store.read(name, { offset: 0, length: expected.length + 1 });
    if (mac?.length !== expected.length || !timingSafeEqual(mac, expected)) return -Infinity;
    // Authenticated, so `nameOf` made it.
    return timeMax - Number(name.slice(-timeDigits));
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

  #mac(name: string): Buffer {
    return createHmac("sha256", this.#key).update(name).digest();
  }
}

function nameOf(id: string, at: number): string {
  return `${prefix}${id}/${String(timeMax - at).padStart(timeDigits, "0")}`;
}

async function inGroups<T>(list: readonly T[], work: (element: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < list.length; start += callsMax) {
    await Promise.all(list.slice(start, start + callsMax).map(work));
  }
}
