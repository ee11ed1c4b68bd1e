/** Segments and models of an index, opened once and kept while the newest snapshot needs them. */

import { type Manifest, type ObjectRef, type SegmentRef } from "../../state/commit/manifest.js";
import { headerBytes, openObject } from "../../crypto/sealed-object.js";
import { keepsCodesOnly } from "../../engine/codes/coded.js";
import { codecToRead } from "../../engine/scan/choose-codec.js";
import type { IndexConfig } from "../../engine/config.js";
import { hasOwnLists, listCount, type Model } from "../../engine/model.js";
import { SealdexError } from "../../errors.js";
import { memoize } from "../../async/memoize.js";
import type { IndexCache } from "../../state/cache/index-cache.js";
import { readRange } from "../../state/segment/block-requests.js";
import { SegmentReader } from "../../state/segment/segment-reader.js";
import { decodeModel } from "../../state/segment/stored-model.js";
import { expectStored } from "../../checks/stored-json.js";
import type { BlobStore } from "../../storage/blob-store.js";
import { findExpired, tombstoneSegments } from "./expired-items.js";
import { keysOfSegment, type ObjectOwner } from "./segment-keys.js";
import { type OpenSegment, Snapshot } from "./snapshot.js";
import { own as ownMembers } from "../../checks/value-kinds.js";

/** A segment that is open for some snapshots. */
interface SharedReader {
  readonly key: string;
  readonly reader: Promise<SegmentReader>;
  uses: number;
}

export class OpenObjects {
  readonly #owner: ObjectOwner;
  readonly #store: Pick<BlobStore, "read">;
  readonly #cache: IndexCache;
  readonly #readers = new Map<string, SharedReader>();
  readonly #usedBy = new WeakMap<Snapshot, readonly SharedReader[]>();
  readonly #models = new Map<string, Promise<Model>>();
  readonly #oblivious: boolean;

  /** `oblivious`: segments are read as a whole, and their ciphertext is kept while they are open. */
  constructor(owner: ObjectOwner, store: Pick<BlobStore, "read">, cache: IndexCache, oblivious: boolean) {
    this.#owner = owner;
    this.#store = store;
    this.#cache = cache;
    this.#oblivious = oblivious;
  }

  /**
   * Opens the objects that a manifest names, without items that have expired by `now`, in milliseconds since 1970. To be released once a newer
   * snapshot has taken its place.
   */
  async open(manifest: Manifest, now: number): Promise<Snapshot> {
    if (this.#oblivious) this.#checkRoom(manifest);
    const opening = manifest.model && this.model(manifest.model);
    opening?.catch(() => undefined);
    const used = manifest.segments.map((ref) =>
      this.#use(ref, ref.model === undefined ? undefined : manifest.model),
    );
    try {
      const readers = await Promise.all(used.map(({ reader }) => reader));
      const segments = await Promise.all(
        readers.map((reader, i) => this.#segment(manifest.segments[i], reader)),
      );
      const model = await opening;
      checkShapes(this.#owner.config, manifest, segments, model);
      const snapshot = new Snapshot(manifest, segments, model, this.#cache);
      if (readers.some(({ footer }) => footer.expiries.length > 0)) {
        return await this.#withoutExpired(snapshot, used, now);
      }
      this.#usedBy.set(snapshot, used);
      return snapshot;
    } catch (error) {
      this.#release(used);
      throw error;
    }
  }

  async #withoutExpired(all: Snapshot, used: SharedReader[], now: number): Promise<Snapshot> {
    const { manifest, stored, model } = all;
    const expired = await findExpired(all, now).finally(() => all.cache.close());
    const hiding = await tombstoneSegments(this.#owner, manifest, expired.items, this.#cache);
    const snapshot = new Snapshot(manifest, [...stored, ...hiding], model, this.#cache, expired);
    const own = hiding.map(({ ref: { name }, reader }) => ({
      key: name,
      reader: Promise.resolve(reader),
      uses: 1,
    }));
    this.#usedBy.set(snapshot, [...used, ...own]);
    return snapshot;
  }

  /** Keeps nothing more for a snapshot: objects that only it needs stay in memory no longer than calls that still read it. */
  release(snapshot: Snapshot): void {
    snapshot.cache.close();
    this.#release(this.#usedBy.get(snapshot) ?? []);
    this.#usedBy.delete(snapshot);
  }

  /** Keeps a model no longer, since a newer manifest does not name it. */
  dropModel({ name }: ObjectRef): void {
    const dropped = this.#models.get(name);
    this.#models.delete(name);
    dropped?.then(
      (model) => this.#cache.groupOf(model).close(),
      () => undefined,
    );
  }

  model(ref: ObjectRef): Promise<Model> {
    return memoize(this.#models, ref.name, async () => {
      const { indexId, keys, config } = this.#owner;
      // The length is known, and determines how long reading may take.
      const bytes = await this.#store.read(ref.name, { offset: 0, length: ref.length });
      if (bytes === null) throw new SealdexError("missing_object", `stored object ${ref.name}: it is gone`);
      if (Buffer.from(bytes.subarray(0, headerBytes)).toString("base64") !== ref.header) {
        throw new SealdexError("corrupt", `stored object ${ref.name}: it was replaced or damaged`);
      }
      const plaintext = openObject(keys.data, { kind: "model", indexId, name: ref.name }, bytes);
      const model = decodeModel(plaintext, config);
      if ((config.dimension ?? model.dimension) !== model.dimension) throw misfit(ref.name, "dimension");
      return model;
    });
  }

  async #segment(ref: SegmentRef, reader: SegmentReader): Promise<OpenSegment> {
    if (ref.namespace === undefined) return { ref, reader, namespace: undefined };
    return { ref, reader, namespace: (await this.#owner.namespaces.byId(ref.namespace)).name };
  }

  #use(ref: SegmentRef, modelRef: ObjectRef | undefined): SharedReader {
    // Codes alone are read by the quantizer of the index's model, so another training opens them again.
    const key = keepsCodesOnly(this.#owner.config) ? `${ref.name} ${modelRef?.name}` : ref.name;
    const shared = this.#readers.get(key) ?? { key, reader: this.#open(ref, modelRef), uses: 0 };
    shared.uses++;
    this.#readers.set(key, shared);
    return shared;
  }

  #release(used: readonly SharedReader[]): void {
    for (const shared of used) {
      if (--shared.uses > 0) continue;
      this.#readers.delete(shared.key);
      shared.reader.then(
        ({ cache }) => cache.close(),
        () => undefined,
      );
    }
  }

  /** `modelRef`: the model of the index, whose quantizer reads the codes of rows that are grouped by any of its models. */
  async #open(ref: SegmentRef, modelRef: ObjectRef | undefined): Promise<SegmentReader> {
    const { indexId, config } = this.#owner;
    const { name, length, blocks, footerLength, rows, deleted } = ref;
    const context = { kind: "segment", indexId, name } as const;
    const header = Buffer.from(ref.header, "base64");
    const location = { context, header, length, blocks, footerLength, rows, deleted };
    const isGrouped = ref.model !== undefined;
    // Requested now, so that it arrives while the segment's end is read.
    const model = modelRef && this.model(modelRef);
    model?.catch(() => undefined);
    const codec = async (dimension: number) => codecToRead(config, dimension, isGrouped, await model);
    const parents = await keysOfSegment(this.#owner, ref);
    if (!this.#oblivious) return SegmentReader.open(parents, location, codec, this.#store, this.#cache);
    const bytes = await readRange(this.#store, name, 0, length);
    const reader = await SegmentReader.open(parents, location, codec, inMemory(bytes), this.#cache);
    reader.cache.hold(length);
    return reader;
  }

  #checkRoom({ segments }: Manifest): void {
    const bytes = segments.reduce((sum, { length }) => sum + length, 0);
    const limit = this.#cache.blocks.bytesMax;
    if (bytes <= limit) return;
    throw new SealdexError(
      "too_large",
      `oblivious: expected an index of at most cacheBytesMax, ${limit}, stored bytes, got ${bytes}`,
    );
  }
}

/**
 * Throws `corrupt` unless rows and models have the manifest's dimension, and rows are in lists of its model. Segments and models are opened once, and
 * manifests describe them together.
 */
function checkShapes(
  config: IndexConfig,
  manifest: Manifest,
  segments: readonly OpenSegment[],
  opened: Model | undefined,
): void {
  const { version, dimension, model } = ownMembers(manifest);
  const isOfIndex = (own: number) => own === (config.dimension ?? own) && own % (config.pqDim ?? 1) === 0;
  expectStored(
    dimension === undefined || isOfIndex(dimension),
    `manifest ${version}: dimension`,
    "that of the index",
  );
  if (opened !== undefined && opened.dimension !== dimension) throw misfit(model?.name, "dimension");
  for (const { ref, reader } of segments) {
    const { footer, codec } = reader;
    const ofCodes = codec.kind === "codes" ? codec.model.dimension : dimension;
    if (footer.dimension !== dimension || ofCodes !== dimension) throw misfit(ref.name, "dimension");
    const isOlder = ref.model !== model?.name;
    const lists = opened === undefined ? 1 : listCount(opened);
    if (!isOlder && footer.codes.lists > lists) throw misfit(ref.name, "lists");
    // Codes refer to the lists themselves, of the first model alone.
    if (isOlder && codec.kind === "codes" && hasOwnLists(codec.model)) throw misfit(ref.name, "lists");
  }
}

function misfit(name: string | undefined, what: string): SealdexError {
  return new SealdexError(
    "corrupt",
    `stored object ${name}: its ${what} are not those of the manifest that names it`,
  );
}

/** An object that was read as a whole, as the store of its ranges. */
function inMemory(bytes: Uint8Array): Pick<BlobStore, "read"> {
  return {
    read: async (_, { offset, length } = { offset: 0, length: bytes.length }) =>
      bytes.slice(offset, offset + length),
  };
}
