/**
 * Opened blocks, decrypted, under a limit of bytes; the least recently used go first. Code blocks lie in kernel
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
}

export class BlockCache {
  readonly #bytesMax: number;
  /** Least recently used first. Keys are the blocks' directory entries, by identity. */
  readonly #entries = new Map<object, Entry>();
  readonly #loading = new Map<object, Promise<unknown>>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
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
    const values = new Map<object, T>();
    try {
      while (values.size < keys.length) {
        const missing: object[] = [];
        const waiting: Promise<unknown>[] = [];
        for (const key of keys) {
          if (values.has(key)) continue;
          const entry = this.#entries.get(key);
          const loading = this.#loading.get(key);
          if (entry !== undefined) values.set(key, this.#touch(key, entry) as T);
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

  unpin(keys: readonly object[]): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) entry.pins--;
    }
    this.#evict();
  }

  /** Frees everything that is not pinned. */
  clear(): void {
    this.#evict(0);
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
        this.#entries.set(key, { value: values[i], pins: 1 });
        this.#bytes += values[i].bytes;
        return [key, values[i]];
      });
    } finally {
      for (const key of missing) this.#loading.delete(key);
      this.#evict();
    }
  }

  #touch(key: object, entry: Entry): CachedBlock {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.pins++;
    return entry.value;
  }

  #evict(bytesMax = this.#bytesMax): void {
    if (this.#bytes <= bytesMax) return;
    for (const [key, entry] of this.#entries) {
      if (entry.pins > 0) continue;
      this.#entries.delete(key);
      this.#bytes -= entry.value.bytes;
      entry.value.free?.();
      if (this.#bytes <= bytesMax) return;
    }
  }
}
