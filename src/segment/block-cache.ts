/**
 * Opened blocks, decrypted, under a limit of bytes; when it is passed, the least recently used go. Code blocks lie in kernel
 * memory and are scanned where they lie; pages of records, contents and ids lie in the heap.
 *
 * What is in use is pinned and never evicted, so the limit can be passed by what one query holds at a time.
 */

export interface CachedBlock {
  /** Memory held, in bytes. */
  readonly bytes: number;
  /** Gives memory outside the heap back. */
  free?(): void;
  /** When it was last used without being asked for here, by `tick`; 0: never. */
  lastUse?(): number;
}

interface Entry {
  readonly value: CachedBlock;
  pins: number;
  /** Number of the call that used it last. */
  usedAt: number;
}

/** What eviction leaves, as a share of the limit: so that it does not have to choose again at every load. */
const keptShare = 0.9;
const epochMax = 2 ** 32 - 1;

export class BlockCache {
  readonly bytesMax: number;
  /** Keys are the blocks' directory entries, by identity. */
  readonly #entries = new Map<object, Entry>();
  readonly #loading = new Map<object, Promise<unknown>>();
  #bytes = 0;
  #epoch = 1;
  #calls = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** How often values went, from 1: whatever was here is still where it was while this is the same. Below 2^32. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Counts a use of values that are not asked for one by one; the number is what their `lastUse` is to say. */
  tick(): number {
    return ++this.#calls;
  }

  /** Memory that opened blocks hold, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The values of these keys, in their order, each pinned once more per occurrence: call `unpin` with the same keys when
   * done. `read` is called once for all keys that are missing; concurrent calls share one read.
   */
  async pin<T extends CachedBlock>(
    keys: readonly object[],
    read: (missing: readonly object[]) => Promise<T[]>,
  ): Promise<T[]> {
    this.#calls++;
    const known = keys.map((key) => this.#entries.get(key));
    if (known.every((entry) => entry !== undefined)) return known.map((entry) => this.#use(entry) as T);

    const values = new Map<object, T>();
    const distinct = new Set(keys);
    try {
      while (values.size < distinct.size) {
        const missing: object[] = [];
        const waiting: Promise<unknown>[] = [];
        for (const key of distinct) {
          if (values.has(key)) continue;
          const entry = this.#entries.get(key);
          const loading = this.#loading.get(key);
          if (entry !== undefined) values.set(key, this.#use(entry) as T);
          else if (loading !== undefined) waiting.push(loading);
          else missing.push(key);
        }
        if (missing.length > 0) {
          for (const [key, value] of await this.#load(missing, read)) values.set(key, value);
        } else {
          // Another call is reading them; what it puts in may be gone again by then, hence the loop.
          await Promise.all(waiting);
        }
      }
    } catch (error) {
      this.unpin([...values.keys()]);
      throw error;
    }
    return keys.map((key) => {
      // The first occurrence is pinned already.
      if (!distinct.delete(key)) this.#pinAgain(key);
      return values.get(key) as T;
    });
  }

  /** Pins a value that is pinned once more. */
  #pinAgain(key: object): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.pins++;
  }

  /** The value of a key if it is there, not pinned: good for as long as nothing is awaited. */
  peek(key: object): CachedBlock | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.usedAt = this.#calls;
    return entry?.value;
  }

  /** Puts a value in, not pinned; one that was there goes. */
  put(key: object, value: CachedBlock): void {
    this.#remove(key);
    this.#entries.set(key, { value, pins: 0, usedAt: this.#calls });
    this.#bytes += value.bytes;
    this.#evict();
  }

  unpin(keys: readonly object[]): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) entry.pins--;
    }
    this.#evict();
  }

  /** Frees everything that is not pinned. */
  clear(): void {
    this.#shrinkTo(0);
  }

  async #load<T extends CachedBlock>(
    missing: readonly object[],
    read: (missing: readonly object[]) => Promise<T[]>,
  ): Promise<[object, T][]> {
    const reading = read(missing);
    for (const key of missing) this.#loading.set(key, reading);
    try {
      const values = await reading;
      return missing.map((key, i) => {
        this.#entries.set(key, { value: values[i], pins: 1, usedAt: this.#calls });
        this.#bytes += values[i].bytes;
        return [key, values[i]];
      });
    } finally {
      for (const key of missing) this.#loading.delete(key);
      this.#evict();
    }
  }

  #use(entry: Entry): CachedBlock {
    entry.pins++;
    entry.usedAt = this.#calls;
    return entry.value;
  }

  #evict(): void {
    if (this.#bytes > this.bytesMax) this.#shrinkTo(keptShare * this.bytesMax);
  }

  #shrinkTo(bytesMax: number): void {
    const idle = [...this.#entries].flatMap(([key, { pins, usedAt, value }]) =>
      pins === 0 ? [{ key, usedAt: Math.max(usedAt, value.lastUse?.() ?? 0) }] : [],
    );
    idle.sort((a, b) => a.usedAt - b.usedAt);
    for (const { key } of idle) {
      if (this.#bytes <= bytesMax) return;
      this.#remove(key);
    }
  }

  #remove(key: object): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.value.bytes;
    this.#epoch = (this.#epoch % epochMax) + 1;
    entry.value.free?.();
  }
}
