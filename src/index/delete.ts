/** Deletes items: a segment of tombstones, and the commit that makes it count. */

import { type CompiledFilter, compileFilter } from "../api/filter/compile.js";
import type { Metadata, Selection } from "../api/vector-index.js";
import { forEachYielding } from "../async/event-loop.js";
import { forEachItem } from "../query/read-items.js";
import { pinMatching, unpinMatching } from "../query/row-filter.js";
import { fingerprintsIn } from "../query/snapshot/find-rows.js";
import { pinIdTables } from "../query/snapshot/id-tables.js";
import type { FoundId, OpenSegment, Snapshot } from "../query/snapshot/snapshot.js";
import type { Manifest } from "../state/commit/manifest.js";
import type { StoredSegment } from "../state/commit/replace-segments.js";
import { entryWords } from "../state/segment/id-table.js";
import { hasRow } from "../state/segment/row-bits.js";
import { vectorRows } from "../state/segment/row-source.js";
import { rowsOf } from "../state/segment/row.js";
import type { SegmentReader } from "../state/segment/segment-reader.js";
import { commitAddition, commitAsOf } from "./commit-changes.js";
import { mergeSmallIfDue } from "./maintenance/compact.js";
import { fingerprintsOf } from "./open/fingerprints.js";
import { dimensionOf } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";
import { withEncoding } from "./open/row-encoding.js";

/** Deletes the items of a checked selection. */
export async function deleteSelected(
  index: OpenIndex,
  { ids, filter }: Selection,
  signal: AbortSignal | undefined,
): Promise<void> {
  await mergeSmallIfDue(index, signal);
  // All items match the empty filter.
  if (ids === undefined) await deleteMatching(index, compileFilter(filter ?? {}), signal);
  else if (filter === undefined) await deleteIds(index, ids, signal);
  else await deleteIdsMatching(index, ids, compileFilter(filter), signal);
}

/** Deletes those of the ids that exist. */
async function deleteIds(
  index: OpenIndex,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const fingerprints = await fingerprintsOf(index, new Set(ids));
  for (;;) {
    const { manifest, deleted } = await index.snapshots.read(async (snapshot) => ({
      manifest: snapshot.manifest,
      deleted: deletionsOf(await snapshot.findIds(fingerprints), fingerprints),
    }));
    if (deleted.size === 0) return;
    const segments = await storeTombstones(index, manifest, deleted, signal);
    if (await commitAddition(index, { segments }, () => true, { signal })) return;
  }
}

/**
 * In each namespace that has one of the ids, all that it may have: also those that are not there, since another writer may be adding
 * one, and these go together or not at all. But items of another namespace leave no trace in this one.
 */
function deletionsOf(found: readonly FoundId[], fingerprints: readonly Uint8Array[]): Deletions {
  const namespaces = new Map<string | undefined, Set<number>>();
  for (const { segment, position } of found) {
    const { namespace } = segment.ref;
    namespaces.set(namespace, (namespaces.get(namespace) ?? new Set()).add(position));
  }
  const isFound = new Set(found.map(({ position }) => position));
  return new Map(
    Array.from(namespaces, ([namespace, own]) => [
      namespace,
      fingerprintsIn(
        namespace,
        fingerprints.filter((_, position) => own.has(position) || !isFound.has(position)),
      ),
    ]),
  );
}

/** Deletes every item whose metadata match, as of one moment. */
async function deleteMatching(
  index: OpenIndex,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<void> {
  const matching = new MatchingItems(filter, signal);
  await commitAsOf(index, signal, async (snapshot) => ({
    segments: await storeTombstones(index, snapshot.manifest, await matching.in(snapshot), signal),
  }));
}

/** Deletes those of the ids whose metadata match, as of one moment. */
async function deleteIdsMatching(
  index: OpenIndex,
  ids: readonly string[],
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<void> {
  const fingerprints = await fingerprintsOf(index, new Set(ids));
  await commitAsOf(index, signal, async (snapshot) => {
    const found = await snapshot.findIds(fingerprints);
    const matching = new Map<string | undefined, Uint8Array[]>();
    await forEachItem(found, new Set(["metadata"] as const), ({ metadataJson }, i) => {
      signal?.throwIfAborted();
      if (!filter.matches(JSON.parse(metadataJson ?? "{}") as Metadata)) return;
      const { namespace } = found[i].segment.ref;
      const own = matching.get(namespace) ?? [];
      matching.set(namespace, own);
      own.push(found[i].fingerprint);
    });
    return { segments: await storeTombstones(index, snapshot.manifest, matching, signal) };
  });
}

/** Segments that delete items, one per namespace; none if there are none. If it fails, nothing of them stays. */
export async function storeTombstones(
  index: OpenIndex,
  manifest: Manifest,
  deleted: Deletions,
  signal: AbortSignal | undefined,
): Promise<StoredSegment[]> {
  const dimension = dimensionOf(index, manifest);
  const stored: StoredSegment[] = [];
  if (dimension === undefined) return stored;
  const noRows = { dimension, rows: rowsOf([]), source: vectorRows([], dimension) };
  try {
    for (const [id, fingerprints] of deleted) {
      if (fingerprints.length === 0) continue;
      const namespace = id === undefined ? undefined : await index.namespaces.byId(id);
      const segment = await withEncoding(index.searcher, dimension, undefined, (encoding) =>
        index.writer.storeSegment({ ...noRows, deleted: fingerprints }, encoding, { namespace }, signal),
      );
      stored.push(segment);
    }
    return stored;
  } catch (error) {
    await index.store.delete(stored.map(({ name }) => name));
    throw error;
  }
}

// The items that match a filter, in one snapshot after the other: each segment is looked at once.

/** Fingerprints of items, by the ids of their namespaces; undefined: in none. */
type Deletions = ReadonlyMap<string | undefined, readonly Uint8Array[]>;

export class MatchingItems {
  readonly #filter: CompiledFilter;
  readonly #signal: AbortSignal | undefined;
  /** Fingerprints of the rows that match, shadowed ones too, layout (n, 4) words. */
  #candidates = new Map<SegmentReader, Uint32Array>();

  constructor(filter: CompiledFilter, signal: AbortSignal | undefined) {
    this.#filter = filter;
    this.#signal = signal;
  }

  /** The live items of a snapshot that match. */
  async in(snapshot: Snapshot): Promise<Deletions> {
    const candidates = new Map<SegmentReader, Uint32Array>();
    const all = new Map<string | undefined, Uint8Array[]>();
    for (const segment of snapshot.segments) {
      this.#signal?.throwIfAborted();
      const words = this.#candidates.get(segment.reader) ?? (await this.#read(segment));
      candidates.set(segment.reader, words);
      if (words.length === 0) continue;
      const { namespace } = segment.ref;
      const found = all.get(namespace) ?? [];
      all.set(namespace, found);
      const shadow = await snapshot.pinShadow(segment);
      try {
        await forEachYielding(words.length / 4, (i) => {
          const at = 4 * i;
          if (shadow.has(words[at], words[at + 1], words[at + 2], words[at + 3])) return;
          found.push(new Uint8Array(words.buffer, 16 * i, 16));
        });
      } finally {
        shadow.release();
      }
    }
    this.#candidates = candidates;
    return all;
  }

  async #read({ reader }: OpenSegment): Promise<Uint32Array> {
    const { bits, count } = await pinMatching(reader, this.#filter, this.#signal);
    // The bits lie in the heap: they stay valid.
    unpinMatching(reader, this.#filter);
    const words = new Uint32Array(4 * count);
    if (count === 0) return words;
    const { tables, release } = await pinIdTables([reader]);
    try {
      const [table] = tables;
      const entries = table.view();
      let n = 0;
      await forEachYielding(table.count, (i) => {
        const at = entryWords * i;
        // A tombstone's row is beyond all bits.
        if (hasRow(bits, entries[at + 4])) words.set(entries.subarray(at, at + 4), 4 * n++);
      });
    } finally {
      release();
    }
    return words;
  }
}
