/**
 * A copy of the items of a shard that are in a range of hashes, as a new shard, segment by segment. A segment of the copy has, of one of
 * the shard, the rows in the range that were live when it was copied, and the tombstones of items in the range. So whichever segments a
 * state of the shard has, their copies have the same newest entry of each item, and only those that are new need to be copied.
 */

import { own } from "../../checks/value-kinds.js";
import { fingerprintsIn } from "../../query/snapshot/find-rows.js";
import type { OpenSegment, Snapshot } from "../../query/snapshot/snapshot.js";
import {
  type Manifest,
  type ModelRef,
  namedObjects,
  objectRefs,
  type ShardRef,
} from "../../state/commit/manifest.js";
import type { StoredSegment } from "../../state/commit/replace-segments.js";
import { entryFingerprint, tombstone } from "../../state/segment/id-table.js";
import { addRow, noRows } from "../../state/segment/row-bits.js";
import { planFor } from "../maintenance/compact.js";
import { liveRowBatches } from "../maintenance/live-row-batches.js";
import { dimensionOf } from "../open/dimension.js";
import type { OpenIndex } from "../open/open-index.js";
import { withEncoding } from "../open/row-encoding.js";
import { stateOf } from "./open-collection.js";
import { type HashRange, hashOf } from "./shards.js";

/** Vectors and texts of a segment of a copy, about. */
const segmentBytes = 64 * 1024 * 1024;
const noFingerprint = new Uint8Array(16);

interface CopiedModel {
  /** The name of the model of the shard. */
  readonly of: string;
  readonly ref: ModelRef;
}

export class ShardCopy {
  readonly range: HashRange;
  readonly #suffix: string;
  readonly #index: OpenIndex;
  /** By the name of the segment of the shard. */
  readonly #segments = new Map<string, readonly StoredSegment[]>();
  #model: CopiedModel | undefined;

  /** `index`: new and empty, with the fingerprints of the collection. */
  constructor(index: OpenIndex, range: HashRange, suffix: string) {
    this.#index = index;
    this.range = range;
    this.#suffix = suffix;
  }

  /** As the newest commit of the copy. */
  state(): Promise<ShardRef> {
    return stateOf(this.#index, own({ from: this.range.from, suffix: this.#suffix }));
  }

  /** Copies the segments of a snapshot of the shard that are not copied yet. Returns how many there were. */
  async copy(shard: OpenIndex, snapshot: Snapshot, signal: AbortSignal | undefined): Promise<number> {
    await this.#copyModel(snapshot, signal);
    const left = snapshot.stored.filter(({ ref }) => !this.#segments.has(ref.name));
    for (const segment of left) {
      signal?.throwIfAborted();
      this.#segments.set(segment.ref.name, await this.#copySegment(shard, snapshot, segment, signal));
    }
    return left.length;
  }

  /** Makes the copies of all segments of the shard its state. All were copied. */
  async commit({ segments, dimension }: Manifest): Promise<void> {
    const copies = segments.flatMap(({ name, sequence }) =>
      (this.#segments.get(name) ?? []).map((segment) => own({ ...segment, sequence })),
    );
    const model = this.#model?.ref;
    await this.#index.log.commit((latest) => {
      const next = { ...latest, ...(dimension && { dimension }), ...(model && { model }), segments: copies };
      const named = namedObjects(next);
      const dropped = objectRefs(latest).filter(({ name }) => !named.has(name));
      return { ...next, droppedObjects: [...latest.droppedObjects, ...dropped.map(({ name }) => name)] };
    });
  }

  async #copyModel({ model, manifest }: Snapshot, signal: AbortSignal | undefined): Promise<void> {
    if (model === undefined || manifest.model === undefined || this.#model?.of === manifest.model.name)
      return;
    const { name, items } = manifest.model;
    const copied = await this.#index.writer.storeModel(model, signal);
    this.#model = { of: name, ref: own({ ...copied, items }) };
  }

  async #copySegment(
    shard: OpenIndex,
    snapshot: Snapshot,
    segment: OpenSegment,
    signal: AbortSignal | undefined,
  ): Promise<StoredSegment[]> {
    const { namespaces, log, writer } = this.#index;
    const dimension = dimensionOf(shard, snapshot.manifest);
    if (dimension === undefined) return [];
    const id = segment.ref.namespace;
    const name = id === undefined ? undefined : (await shard.namespaces.byId(id)).name;
    const namespace =
      name === undefined ? undefined : await namespaces.forWriting(name, await log.knownOrNewest());
    const place = { modelName: this.#model?.ref.name, namespace };
    const { rows, deleted } = await this.#entriesOf(snapshot, segment);
    const change = { rows: new Map([[segment, rows]]), revise: (record: Uint8Array) => record };
    const plan = { ...planFor(snapshot, segmentBytes), segments: [segment], change };
    const stored: StoredSegment[] = [];
    for await (const { batch } of liveRowBatches(shard, plan, dimension, deleted)) {
      signal?.throwIfAborted();
      const copied = await withEncoding(shard.searcher, dimension, snapshot.model, (encoding) =>
        writer.storeSegment(batch, encoding, place, signal),
      );
      stored.push(copied);
    }
    return stored;
  }

  /** The live rows of a segment that are in the range, and the items that it deletes. An expired row is deleted, since it may hide older ones. */
  async #entriesOf(snapshot: Snapshot, segment: OpenSegment) {
    // Fingerprints in a namespace are exclusive or its handle.
    const [handle] = fingerprintsIn(segment.ref.namespace, [noFingerprint]);
    const mask = hashOf(handle);
    const { from, end } = this.range;
    const isInRange = (word: number) => {
      const hash = (word ^ mask) >>> 0;
      return hash >= from && hash < end;
    };
    const rows = noRows(segment.reader.footer.rows);
    const deleted = (snapshot.expired.items.get(segment) ?? []).filter((bytes) => isInRange(hashOf(bytes)));
    await snapshot.forEachEntry(
      segment,
      () => true,
      (entry) => {
        if (!isInRange(entry[3])) return;
        if (entry[4] === tombstone) deleted.push(entryFingerprint(entry));
        else addRow(rows, entry[4]);
      },
    );
    return { rows, deleted };
  }
}
