/** Segments and models of an index, opened once and kept as long as the newest manifest names them. */

import { type Manifest, modelRefs, type ObjectRef, type SegmentRef } from "../commit/manifest.js";
import type { IndexKeys } from "../crypto/keys.js";
import { headerBytes, openObject } from "../crypto/sealed-object.js";
import { codecToRead } from "../engine/choose-codec.js";
import type { IndexConfig } from "../engine/config.js";
import type { Model } from "../engine/model.js";
import { SealdexError } from "../errors.js";
import { memoize } from "../memoize.js";
import type { BlockCache } from "../segment/block-cache.js";
import { SegmentReader } from "../segment/segment-reader.js";
import { decodeModel } from "../segment/stored-model.js";
import type { BlobStore } from "../storage/blob-store.js";
import { Snapshot } from "./snapshot.js";

/** Whose objects these are, and how their rows are encoded. */
export interface ObjectOwner {
  readonly indexId: Uint8Array;
  readonly keys: IndexKeys;
  readonly config: IndexConfig;
}

export class OpenObjects {
  readonly #owner: ObjectOwner;
  readonly #store: BlobStore;
  readonly #cache: BlockCache;
  readonly #readers = new Map<string, Promise<SegmentReader>>();
  readonly #models = new Map<string, Promise<Model>>();

  constructor(owner: ObjectOwner, store: BlobStore, cache: BlockCache) {
    this.#owner = owner;
    this.#store = store;
    this.#cache = cache;
  }

  /** Opens what a manifest names. What it does not name is no longer kept. */
  async open(manifest: Manifest): Promise<Snapshot> {
    const named = new Set(manifest.segments.map((segment) => segment.name));
    for (const name of this.#readers.keys()) if (!named.has(name)) this.#readers.delete(name);
    const models = new Map(modelRefs(manifest).map((ref) => [ref.name, ref]));
    for (const name of this.#models.keys()) if (!models.has(name)) this.#models.delete(name);
    const model = manifest.model && this.model(manifest.model);
    const segments = manifest.segments.map(async (ref) => {
      const grouping = ref.model === undefined ? undefined : models.get(ref.model);
      return { ref, reader: await this.#reader(ref, grouping) };
    });
    return new Snapshot(manifest, await Promise.all(segments), await model);
  }

  model(ref: ObjectRef): Promise<Model> {
    return memoize(this.#models, ref.name, async () => {
      const { indexId, keys } = this.#owner;
      // The length is known, and determines how long reading may take.
      const bytes = await this.#store.read(ref.name, { offset: 0, length: ref.length });
      if (bytes === null) throw new SealdexError("missing_object", `stored object ${ref.name}: it is gone`);
      if (Buffer.from(bytes.subarray(0, headerBytes)).toString("base64") !== ref.header) {
        throw new SealdexError("corrupt", `stored object ${ref.name}: it was replaced or damaged`);
      }
      return decodeModel(openObject(keys.data, { kind: "model", indexId, name: ref.name }, bytes));
    });
  }

  /** `grouping`: the model of the segment's rows, if they have one that is still there. */
  #reader(ref: SegmentRef, grouping: ObjectRef | undefined): Promise<SegmentReader> {
    return memoize(this.#readers, ref.name, async () => {
      const { indexId, keys, config } = this.#owner;
      const { name, length, blocks, directoryLength } = ref;
      const context = { kind: "segment", indexId, name } as const;
      const header = Buffer.from(ref.header, "base64");
      const location = { context, header, length, blocks, directoryLength };
      const isGrouped = ref.model !== undefined;
      // Requested now, so that it arrives while the segment's end is read.
      const model = grouping && this.model(grouping);
      model?.catch(() => undefined);
      const codec = async (dimension: number) => codecToRead(config, dimension, isGrouped, await model);
      return SegmentReader.open(keys.data, location, codec, this.#store, this.#cache);
    });
  }
}
