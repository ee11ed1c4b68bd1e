/** Deletes items: a segment of tombstones, and the commit that makes it count. */

import { areCommittable, type Manifest, nextSequence } from "../commit/manifest.js";
import { fingerprint } from "../crypto/keys.js";
import type { CompiledFilter } from "../filter.js";
import { vectorRows } from "../segment/row-source.js";
import { forEachYielding } from "../threads/yield-to-event-loop.js";
import { noteCommit } from "./compact.js";
import { withEncoding } from "./encoding.js";
import { MatchingItems } from "./matching-items.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";

/** How long other writers wait for a filter delete that lost a race, at least and at most, in milliseconds. */
const turnMsMin = 250;
const turnMsMax = 10_000;

/** Deletes those of the ids that exist. */
export async function deleteIds(
  index: OpenIndex,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const distinct = [...new Set(ids)];
  const fingerprints: Uint8Array[] = [];
  await forEachYielding(distinct.length, (i) => fingerprints.push(fingerprint(index.keys.id, distinct[i])));
  const { manifest, refs } = await index.snapshots.read(async (snapshot) => ({
    manifest: snapshot.manifest,
    refs: await snapshot.find(fingerprints),
  }));
  if (refs.every((ref) => ref === null)) return;
  // All of them, also those that are not there: another writer may be adding one, and these go together or not at all.
  await writeTombstones(index, { manifest, deleted: fingerprints }, signal);
}

/**
 * Deletes every item whose metadata match, as of one moment. What others write meanwhile may change which items match, so it is
 * looked at again. That takes longer than a write, so after a lost race the others are asked to wait.
 */
export async function deleteMatching(
  index: OpenIndex,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<void> {
  const matching = new MatchingItems(filter, signal);
  let turn: string | undefined;
  try {
    for (;;) {
      const began = index.clock.steady();
      const { manifest, deleted } = await index.snapshots.readNewest(async (snapshot) => ({
        manifest: snapshot.manifest,
        deleted: await matching.in(snapshot),
      }));
      if (deleted.length === 0) return;
      const isValid = (latest: Manifest) => hasSameItems(latest, manifest);
      const tombstones = { manifest, deleted, isValid, ...(turn !== undefined && { turn }) };
      if (await writeTombstones(index, tombstones, signal)) return;
      const tookMs = index.clock.steady() - began;
      turn = await index.log.claimTurn(Math.max(turnMsMin, Math.min(turnMsMax, 2 * tookMs)));
    }
  } finally {
    if (turn !== undefined) await index.log.releaseTurn(turn);
  }
}

interface Tombstones {
  /** The snapshot as of which items are deleted. */
  readonly manifest: Manifest;
  /** Their fingerprints. */
  readonly deleted: readonly Uint8Array[];
  /** Whether these are still the items to delete. Default: yes. */
  readonly isValid?: (latest: Manifest) => boolean;
  /** See `ManifestLog.claimTurn`. */
  readonly turn?: string;
}

/** Returns false if the tombstones were not valid any more when they were to be committed. */
async function writeTombstones(
  index: OpenIndex,
  { manifest, deleted, isValid = () => true, turn }: Tombstones,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const dimension = dimensionOf(index, manifest);
  if (dimension === undefined) return true;
  const batch = { dimension, rows: [], source: vectorRows(new Float32Array(0), dimension), deleted };
  for (;;) {
    const stored = await withEncoding(index.searcher, dimension, undefined, (encoding) =>
      index.writer.storeSegment(batch, encoding, undefined, signal),
    );
    let changed = false;
    let before = manifest;
    const committed = await index.log.commit((latest) => {
      before = latest;
      changed = !isValid(latest);
      if (signal?.aborted || changed || !areCommittable(latest, [stored])) return null;
      return { ...latest, segments: [...latest.segments, { ...stored, sequence: nextSequence(latest) }] };
    }, turn);
    if (committed !== null) {
      noteCommit(index, before, committed);
      return true;
    }
    await index.store.delete([stored.name]);
    signal?.throwIfAborted();
    if (changed) return false;
  }
}

/**
 * Whether a manifest surely has the items of an earlier one, in segments that may have been rewritten. A commit of items has a
 * higher sequence, which only goes down again if all segments are rewritten.
 */
function hasSameItems(latest: Manifest, earlier: Manifest): boolean {
  const names = new Set(latest.segments.map(({ name }) => name));
  return (
    nextSequence(latest) === nextSequence(earlier) && earlier.segments.some(({ name }) => names.has(name))
  );
}
