/**
 * The beginnings of objects that are read before a manifest says whether they are needed, at the same time as that manifest. Readers
 * see no difference: early bytes are authenticated like any others.
 */

import type { BlobStore, ByteRange } from "../../storage/blob-store.js";

/** What is read of each object: all of a small one. */
const readBytes = 32 * 1024;

export class EarlyReads {
  readonly #store: BlobStore;
  readonly #begun = new Map<string, Promise<Uint8Array | null>>();

  constructor(store: BlobStore) {
    this.#store = store;
  }

  /** Begins to read these objects. Call `end` when it is known which are needed, and these are open. */
  begin(names: readonly string[]): void {
    for (const name of names) {
      const reading = this.#store.read(name, { offset: 0, length: readBytes }).catch(() => null);
      this.#begun.set(name, reading);
    }
  }

  /** Whether the first `length` bytes of each of these objects were read. */
  async hasAll(objects: readonly { readonly name: string; readonly length: number }[]): Promise<boolean> {
    const read = await Promise.all(objects.map(async ({ name }) => this.#begun.get(name)));
    return objects.every(({ length }, i) => (read[i]?.length ?? 0) >= length);
  }

  /** Forgets what was read. */
  end(): void {
    this.#begun.clear();
  }

  /** As the store's: from what was read early, if that has the whole range. */
  read(name: string, range: ByteRange): Promise<Uint8Array | null> {
    const begun = this.#begun.get(name);
    return begun === undefined ? this.#store.read(name, range) : this.#readBegun(begun, name, range);
  }

  async #readBegun(
    begun: Promise<Uint8Array | null>,
    name: string,
    range: ByteRange,
  ): Promise<Uint8Array | null> {
    const bytes = await begun;
    const end = range.offset + range.length;
    return bytes !== null && bytes.length >= end
      ? bytes.subarray(range.offset, end)
      : this.#store.read(name, range);
  }
}
