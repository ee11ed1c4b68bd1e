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
}

interface Entry {
  readonly value: CachedBlock;
  pins: number;
  /** Number of the call that used it last. */
  usedAt: number;
}

/** What eviction leaves, as a share of the limit: so that it does not have to choose again at every load. */
const keptShare = 0.9;

export class BlockCache {
  readonly bytesMax: number;
  /** Keys are the blocks' directory entries, by identity. */
  readonly #entries = new Map<object, Entry>();
  readonly #loading = new Map<object, Promise<unknown>>();
  #bytes = 0;
  #calls = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Memory that opened blocks hold, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The values of these keys, in their order, each pinned once more: call `unpin` with the same keys when
   * done. `read` is asked once for all keys that are missing; concurrent calls share one read.
   */
  async pin<T extends CachedBlock>(
    keys: readonly object[],
    read: (missing: readonly object[]) => Promise<T[]>,
  ): Promise<T[]> {
    this.#calls++;
    const known = keys.map((key) => this.#entries.get(key));
    if (known.every((entry) => entry !== undefined)) return known.map((entry) => this.#use(entry) as T);

    const values = new Map<object, T>();
    try {
      while (values.size < keys.length) {
        const missing: object[] = [];
        const waiting: Promise<unknown>[] = [];
        for (const key of keys) {
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
    return keys.map((key) => values.get(key) as T);
  }

  /** The value of a key if it is there, not pinned: good for as long as nothing is awaited. */
  peek(key: object): CachedBlock | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.usedAt = this.#calls;
    return entry?.value;
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
    const idle = [...this.#entries].filter(([, { pins }]) => pins === 0);
    idle.sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [key, { value }] of idle) {
      if (this.#bytes <= bytesMax) return;
      this.#entries.delete(key);
      this.#bytes -= value.bytes;
      value.free?.();
    }
  }
}
