/** The cached values of one owner, such as a segment. They are evicted together once the owner is not needed any more. */

import { currentProfile } from "../../async/profile.js";

/** A value that can be cached. It never changes. */
export interface CachedValue {
  /** Memory held, in bytes. */
  readonly bytes: number;
  /** The decrypted bytes that it was made from, if they are in the heap: cleared when the client is closed. */
  readonly plaintext?: Uint8Array;
  /** Gives memory outside the heap back. */
  free?(): void;
  /** When it was last used without being asked for here, by `BlockCache.tick`; 0: never. */
  lastUse?(): number;
}

declare const cached: unique symbol;

/** Makes an object a key of values of type `T`; its identity counts, and it holds nothing at run time. */
export interface KeyOf<T extends CachedValue> {
  readonly [cached]?: T;
}

export type CacheKey<T extends CachedValue> = (object | string) & KeyOf<T>;

/** A key by name: equal names are equal keys within a group. */
export function namedKey<T extends CachedValue>(name: string): CacheKey<T> {
  return name as CacheKey<T>;
}

/** The cache, as its groups see it. */
export interface CacheAccount {
  /** The number of the latest use. */
  readonly now: number;
  /** Counts a use, and returns its number. */
  tick(): number;
  /** Bytes were added, or removed if negative. */
  add(bytes: number): void;
  /** Values are read that were asked for and are not here. */
  noteMiss(): void;
  /** Evicts if the limit is exceeded. */
  settle(): void;
  /** The group is closed, and empty. */
  leave(group: CacheGroup): void;
}

interface Entry<T extends CachedValue> {
  readonly value: T;
  pins: number;
  /** Number of the call that used it last. */
  usedAt: number;
}

/** A read in progress, and the signal that stops it. */
interface Loading {
  readonly reading: Promise<unknown>;
  readonly signal: AbortSignal | undefined;
}

/** Resolves when a read has ended or was stopped. */
async function settled(loading: Loading | undefined): Promise<void> {
  try {
    await loading?.reading;
  } catch (error) {
    if (loading?.signal?.aborted !== true) throw error;
  }
}

/** Entries that may be evicted. */
export interface IdleValue {
  readonly usedAt: number;
  readonly plaintext: Uint8Array | undefined;
  evict(): void;
}

/** Memory that an entry takes besides its value, in bytes: the objects of entry, value and buffer, and their places in maps. */
export const entryBytes = 512;

export class CacheGroup {
  readonly #account: CacheAccount;
  readonly #noteRemoval: () => void;
  readonly #entries = new Map<unknown, Entry<CachedValue>>();
  readonly #loading = new Map<unknown, Loading>();
  #heldBytes = 0;
  #closed = false;

  /** `noteRemoval`: called when a value outside the heap was replaced or is to be freed. */
  constructor(account: CacheAccount, noteRemoval: () => void) {
    this.#account = account;
    this.#noteRemoval = noteRemoval;
  }

  /**
   * The values of these keys, in their order, each pinned once more per key: call `unpin` with the same keys when
   * done. `read` is called once for all keys that are missing; concurrent calls share one read. `signal`: which stops it, for this
   * call alone.
   */
  async pin<T extends CachedValue, K extends CacheKey<T>>(
    keys: readonly K[],
    read: (missing: readonly K[]) => Promise<readonly T[]>,
    signal?: AbortSignal,
  ): Promise<T[]> {
    this.#account.tick();
    const opened = this.pinOpened<T>(keys);
    currentProfile()?.add(this.#usesOf(keys));
    return opened ?? this.#read<T, K>(keys, read, signal);
  }

  async #read<T extends CachedValue, K extends CacheKey<T>>(
    keys: readonly K[],
    read: (missing: readonly K[]) => Promise<readonly T[]>,
    signal: AbortSignal | undefined,
  ): Promise<T[]> {
    const pinned: K[] = [];
    try {
      for (;;) {
        const missing = [...new Set(keys)].filter((key) => !this.#entries.has(key));
        const unread = missing.filter((key) => !this.#loading.has(key));
        // Pinned until all are read: otherwise reading some could evict others.
        if (unread.length > 0) {
          await this.#load<T, K>(unread, read, signal);
          pinned.push(...unread);
        } else {
          // Another call reads them; it may be stopped, or the value may have been evicted by then, hence the loop.
          await Promise.all(missing.map((key) => settled(this.#loading.get(key))));
        }
        const opened = this.pinOpened<T>(keys);
        if (opened !== undefined) return opened;
      }
    } finally {
      this.unpin(pinned);
    }
  }

  #usesOf(keys: readonly unknown[]): { readonly cacheHits: number; readonly cacheMisses: number } {
    const cacheHits = keys.filter((key) => this.#entries.has(key)).length;
    return { cacheHits, cacheMisses: keys.length - cacheHits };
  }

  /** The values of these keys, not pinned: for values in the heap, which stay valid if they are evicted. */
  async load<T extends CachedValue, K extends CacheKey<T>>(
    keys: readonly K[],
    read: (missing: readonly K[]) => Promise<readonly T[]>,
    signal?: AbortSignal,
  ): Promise<T[]> {
    const values = await this.pin<T, K>(keys, read, signal);
    this.unpin(keys);
    return values;
  }

  /** As `pin`, without waiting: undefined if one of the values is not here. */
  pinOpened<T extends CachedValue>(keys: readonly CacheKey<T>[]): T[] | undefined {
    const entries: Entry<T>[] = [];
    for (const key of keys) {
      const entry = this.#entry(key);
      if (entry === undefined) return undefined;
      entries.push(entry);
    }
    return entries.map((entry) => {
      entry.pins++;
      entry.usedAt = this.#account.now;
      return entry.value;
    });
  }

  /** The value of a key if it is here, not pinned: valid until the next await. */
  peek<T extends CachedValue>(key: CacheKey<T>): T | undefined {
    const entry = this.#entry(key);
    if (entry !== undefined) entry.usedAt = this.#account.now;
    return entry?.value;
  }

  /** Caches a value, not pinned, instead of the one that was here. */
  put<T extends CachedValue>(key: CacheKey<T>, value: T): void {
    this.#remove(key);
    this.#add(key, value, 0);
    if (this.#closed) this.#evict(key);
    this.#account.settle();
  }

  /** Caches a value whose key is not here, pinned: call `unpin` when done. A closed group keeps it until then. */
  putPinned<T extends CachedValue>(key: CacheKey<T>, value: T): void {
    this.#add(key, value, 1);
    this.#account.settle();
  }

  unpin(keys: readonly CacheKey<CachedValue>[]): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) entry.pins--;
      if (this.#closed) this.#evict(key);
    }
    this.#account.settle();
  }

  /** Counts memory that the owner itself holds, in bytes, until the group is closed. */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#account.add(bytes);
    this.#account.settle();
  }

  /**
   * Evicts everything, now or when it is unpinned. Readers that still need the owner get right answers, but nothing that
   * they read stays cached.
   */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#account.add(-this.#heldBytes);
    for (const { evict } of this.idle()) evict();
    if (this.#entries.size === 0) this.#account.leave(this);
  }

  /** Entries that are not pinned. */
  idle(): IdleValue[] {
    return Array.from(this.#entries).flatMap(([key, { pins, usedAt, value }]) => {
      if (pins > 0) return [];
      const { plaintext } = value;
      return [{ usedAt: Math.max(usedAt, value.lastUse?.() ?? 0), plaintext, evict: () => this.#evict(key) }];
    });
  }

  /** Reads values that are missing, and pins each once. */
  async #load<T extends CachedValue, K extends CacheKey<T>>(
    missing: readonly K[],
    read: (missing: readonly K[]) => Promise<readonly T[]>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    this.#account.noteMiss();
    const reading = read(missing);
    for (const key of missing) this.#loading.set(key, { reading, signal });
    try {
      const values = await reading;
      missing.forEach((key, i) => this.#add(key, values[i], 1));
    } finally {
      for (const key of missing) this.#loading.delete(key);
      this.#account.settle();
    }
  }

  #entry<T extends CachedValue>(key: CacheKey<T>): Entry<T> | undefined {
    // The only cast: the type of a key determines that of its value.
    return this.#entries.get(key) as Entry<T> | undefined;
  }

  #add(key: unknown, value: CachedValue, pins: number): void {
    this.#entries.set(key, { value, pins, usedAt: this.#account.now });
    this.#account.add(value.bytes + entryBytes);
  }

  #evict(key: unknown): void {
    if (this.#entries.get(key)?.pins === 0) this.#remove(key);
  }

  #remove(key: unknown): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#account.add(-entry.value.bytes - entryBytes);
    if (this.#closed && this.#entries.size === 0) this.#account.leave(this);
    if (entry.value.free === undefined) return;
    this.#noteRemoval();
    entry.value.free();
  }
}
