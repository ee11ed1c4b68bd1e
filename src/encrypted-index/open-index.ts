/** One index, open in this process: what every verb works on. */

import { untilAborted } from "../calls.js";
import type { IndexKeys } from "../crypto/keys.js";
import { headerBytes, openObject, sealObject } from "../crypto/sealed-object.js";
import { chooseScanner, codecToRead, codecToWrite, type Trained } from "../engine/choose-codec.js";
import type { IndexConfig } from "../engine/config.js";
import { CoarseQuantizer } from "../engine/coarse-quantizer.js";
import { allocatedBytes } from "../engine/kernels/memory.js";
import { toListSpace } from "../engine/metric.js";
import { isCodedModel, type Model } from "../engine/model.js";
import { ModelQuantizer } from "../engine/model-quantizer.js";
import type { ListBlockTable } from "../engine/list-block-table.js";
import type { QueryVector } from "../engine/query-vector.js";
import type { Scanner } from "../engine/scanner.js";
import { SealdexError } from "../errors.js";
import type { BlockCache, CachedBlock } from "../segment/block-cache.js";
import { type OpenCodes, SegmentReader } from "../segment/segment-reader.js";
import { type Batch, type Encoding, writeSegment } from "../segment/segment-writer.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { MemoryUse } from "../vector-index.js";
import { run } from "../threads/run.js";
import type { Clock } from "../commit/clock.js";
import type { OpenedRecord } from "./index-record.js";
import {
  type Manifest,
  modelRefs,
  namedObjects,
  type ObjectRef,
  type SegmentRef,
} from "../commit/manifest.js";
import { ManifestLog } from "../commit/manifest-log.js";
import { newObjectName } from "../commit/object-names.js";
import { Residency } from "../search/residency.js";
import { memoize } from "../memoize.js";
import { RowFilters } from "../search/row-filter.js";
import { type ListBlock, Snapshot } from "../search/snapshot.js";
import { decodeModel, encodeModel } from "./stored-model.js";

/** A segment that is stored but that no manifest names yet. */
export type StoredSegment = Omit<SegmentRef, "sequence">;

export class OpenIndex {
  readonly indexName: string;
  readonly indexId: Uint8Array;
  readonly config: IndexConfig;
  readonly embeddingModel?: string;
  readonly keys: IndexKeys;
  readonly log: ManifestLog;
  readonly store: BlobStore;
  readonly clock: Clock;
  /** Whether a commit of this process left segments that it should merge before its next write. */
  compactionOwed = false;
  readonly #maxStalenessMs: number;
  readonly rowFilters = new RowFilters();
  readonly #cache: BlockCache;
  #snapshot: Snapshot | undefined;
  readonly #parts: Residency;
  #rewriting: Promise<unknown> | undefined;
  readonly #readers = new Map<string, Promise<SegmentReader>>();
  readonly #models = new Map<string, Promise<Model>>();

  constructor(
    indexName: string,
    record: OpenedRecord,
    indexStore: BlobStore,
    configStore: BlobStore,
    cache: BlockCache,
    clock: Clock,
    maxStalenessMs: number,
  ) {
    this.indexName = indexName;
    this.indexId = record.indexId;
    this.config = record.definition.config;
    this.embeddingModel = record.definition.embeddingModel;
    this.keys = record.keys;
    this.store = indexStore;
    this.log = new ManifestLog(configStore, record.keys, record.indexId, indexName, clock);
    this.clock = clock;
    this.#maxStalenessMs = maxStalenessMs;
    this.#cache = cache;
    this.#parts = new Residency(cache);
  }

  /** The index as of now: every change acknowledged before this call is in it. */
  async snapshot(maxStalenessMs = 0): Promise<Snapshot> {
    // Most often nothing was written in the meantime: what is known is opened while storage is asked.
    const { known } = this.log;
    if (known !== undefined && this.#snapshot === undefined) this.#at(known).catch(() => undefined);
    const manifest = await this.log.newest(maxStalenessMs);
    try {
      return await this.#at(manifest);
    } catch (error) {
      if (await this.wasSuperseded(manifest, error)) return this.snapshot();
      throw error;
    }
  }

  /**
   * What `work` makes of a snapshot; as stale, at most, as the client allows. A reader so slow that what it reads was
   * collected meanwhile begins again, on a newer snapshot.
   */
  async read<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    let snapshot = await this.snapshot(this.#maxStalenessMs);
    for (;;) {
      try {
        return await work(snapshot);
      } catch (error) {
        if (!(await this.wasSuperseded(snapshot.manifest, error))) throw error;
        snapshot = await this.snapshot();
      }
    }
  }

  /** Whether `error` may only mean that objects of this version, which the newest does not have, were collected. */
  async wasSuperseded(manifest: Manifest, error: unknown): Promise<boolean> {
    if (!(error instanceof SealdexError && error.code === "missing_object")) return false;
    const named = namedObjects(await this.log.newest());
    return [...namedObjects(manifest)].some((name) => !named.has(name));
  }

  async #at(manifest: Manifest): Promise<Snapshot> {
    if (this.#snapshot?.manifest.version === manifest.version) return this.#snapshot;
    const snapshot = await this.#open(manifest);
    // A call that was slower may not take the place of one that came further.
    if (this.#snapshot === undefined || this.#snapshot.manifest.version < manifest.version) {
      this.#snapshot = snapshot;
    }
    return snapshot;
  }

  /** The manifest as known here, without asking storage; see `ManifestLog.recent`. */
  recent(): Promise<Manifest> {
    return this.log.recent();
  }

  /** The manifest as known here, and the model of new segments. */
  async recentModel(): Promise<{ readonly manifest: Manifest; readonly model: Model | undefined }> {
    const manifest = await this.recent();
    try {
      return { manifest, model: manifest.model && (await this.#model(manifest.model)) };
    } catch (error) {
      // Known for so long that its model was collected: by now there is a newer one.
      if (await this.wasSuperseded(manifest, error)) return this.recentModel();
      throw error;
    }
  }

  memory(): MemoryUse {
    return {
      rssBytes: process.memoryUsage.rss(),
      kernelBytes: allocatedBytes(),
      cacheBytes: this.#cache.bytes,
      cacheBytesMax: this.#cache.bytesMax,
    };
  }

  /** Whether training or compaction runs in this process; it runs once at a time. */
  get rewriting(): boolean {
    return this.#rewriting !== undefined;
  }

  async whileRewriting(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
    while (this.#rewriting !== undefined) {
      await untilAborted(
        this.#rewriting.catch(() => undefined),
        signal,
      );
    }
    this.#rewriting = work();
    try {
      await this.#rewriting;
    } finally {
      this.#rewriting = undefined;
    }
  }

  /** The dimension, by definition or by the first vector. */
  dimension(manifest: Manifest): number | undefined {
    return this.config.dimension ?? manifest.dimension;
  }

  /** How new rows are encoded under a model, or without one. The quantizer is pinned while `use` runs. */
  async withEncoding<T>(
    dimension: number,
    model: Model | undefined,
    use: (encoding: Encoding) => Promise<T>,
  ): Promise<T> {
    const points = (vectors: Float32Array) => toListSpace(this.config.metric, vectors, dimension);
    const encoding = (trained: Trained | undefined) => ({
      codec: codecToWrite(this.config, dimension, trained),
      toListSpace: points,
      ...(trained && { quantizer: trained.quantizer }),
    });
    if (model === undefined) return use(encoding(undefined));
    return this.withTrained(model, (trained) => use(encoding(trained)));
  }

  /** See `chooseScanner`. */
  scanner(query: QueryVector, vector: Float32Array, trained: Trained | undefined): Scanner {
    return chooseScanner(this.config, query, vector, trained);
  }

  /** A model in kernel memory, pinned there while `use` runs. */
  async withTrained<T>(model: Model, use: (trained: Trained) => Promise<T> | T): Promise<T> {
    const [trained] = await this.#cache.pin([model], async () => [await this.#loadModel(model)]);
    try {
      return await use(trained);
    } finally {
      this.#cache.unpin([model]);
    }
  }

  /** Where the code blocks of a snapshot are, if it is the newest: good for as long as nothing is awaited. */
  listBlockTable(snapshot: Snapshot): ListBlockTable | undefined {
    return snapshot === this.#snapshot ? this.#parts.ensureTable(snapshot) : undefined;
  }

  /** Takes down where these parts of a snapshot are, which are in memory now. */
  noteOpened(snapshot: Snapshot, parts: readonly ListBlock[], codes: readonly OpenCodes[]): void {
    if (snapshot === this.#snapshot) this.#parts.recordAddresses(snapshot, parts, codes);
  }

  /** Counts a use of code blocks, see `BlockCache.tick`. */
  tick(): number {
    return this.#cache.tick();
  }

  async #loadModel(model: Model): Promise<Trained & CachedBlock> {
    const quantizer = await run(CoarseQuantizer.open(model));
    const rowQuantizer = isCodedModel(model) ? new ModelQuantizer(this.config, model) : undefined;
    return {
      model,
      quantizer,
      ...(rowQuantizer && { rowQuantizer }),
      bytes: quantizer.bytes + (rowQuantizer?.bytes ?? 0),
      free() {
        quantizer.free();
        rowQuantizer?.free();
      },
    };
  }

  /** Seals and stores a batch as one segment. */
  async storeSegment(
    batch: Batch,
    encoding: Encoding,
    modelName: string | undefined,
    signal?: AbortSignal,
  ): Promise<StoredSegment> {
    const name = newObjectName(this.indexId, "segment", this.log.version);
    const context = { kind: "segment", indexId: this.indexId, name } as const;
    const writing = writeSegment(this.keys.data, context, batch, encoding);
    const { bytes, header, rows, blocks, directoryLength } = await run(writing, signal);
    await this.#create(name, bytes, signal);
    return {
      name,
      header: Buffer.from(header).toString("base64"),
      length: bytes.length,
      rows,
      deleted: batch.deleted.length,
      blocks,
      directoryLength,
      ...(modelName !== undefined && { model: modelName }),
    };
  }

  async storeModel(model: Model, signal?: AbortSignal): Promise<ObjectRef> {
    const name = newObjectName(this.indexId, "model", this.log.version);
    const context = { kind: "model", indexId: this.indexId, name } as const;
    const bytes = sealObject(this.keys.data, context, encodeModel(model));
    await this.#create(name, bytes, signal);
    return {
      name,
      header: Buffer.from(bytes.subarray(0, headerBytes)).toString("base64"),
      length: bytes.length,
    };
  }

  async #create(name: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    if (!(await this.store.create(name, bytes, { signal }))) {
      throw new SealdexError("internal", `stored object ${name}: a new random name is taken`);
    }
  }

  async #open(manifest: Manifest): Promise<Snapshot> {
    const named = new Set(manifest.segments.map((segment) => segment.name));
    for (const name of this.#readers.keys()) if (!named.has(name)) this.#readers.delete(name);
    const models = new Map(modelRefs(manifest).map((ref) => [ref.name, ref]));
    for (const name of this.#models.keys()) if (!models.has(name)) this.#models.delete(name);
    const model = manifest.model && this.#model(manifest.model);
    const segments = manifest.segments.map(async (ref) => {
      const grouping = ref.model === undefined ? undefined : models.get(ref.model);
      return { ref, reader: await this.#reader(ref, grouping) };
    });
    return new Snapshot(manifest, await Promise.all(segments), await model);
  }

  /** `grouping`: the model of the segment's rows, where they have one that is still there. */
  #reader(ref: SegmentRef, grouping: ObjectRef | undefined): Promise<SegmentReader> {
    return memoize(this.#readers, ref.name, async () => {
      const { name, length, blocks, directoryLength } = ref;
      const context = { kind: "segment", indexId: this.indexId, name } as const;
      const header = Buffer.from(ref.header, "base64");
      const location = { context, header, length, blocks, directoryLength };
      const grouped = ref.model !== undefined;
      // Asked for now, so that it comes while the segment's end is read.
      const model = grouping && this.#model(grouping);
      model?.catch(() => undefined);
      const codec = async (dimension: number) => codecToRead(this.config, dimension, grouped, await model);
      return SegmentReader.open(this.keys.data, location, codec, this.store, this.#cache);
    });
  }

  #model(ref: ObjectRef): Promise<Model> {
    return memoize(this.#models, ref.name, async () => {
      // The length is known: it tells how long reading may take.
      const bytes = await this.store.read(ref.name, { offset: 0, length: ref.length });
      if (bytes === null) throw new SealdexError("missing_object", `stored object ${ref.name}: it is gone`);
      if (Buffer.from(bytes.subarray(0, headerBytes)).toString("base64") !== ref.header) {
        throw new SealdexError("corrupt", `stored object ${ref.name}: it was replaced or damaged`);
      }
      const context = { kind: "model", indexId: this.indexId, name: ref.name } as const;
      return decodeModel(openObject(this.keys.data, context, bytes));
    });
  }
}
