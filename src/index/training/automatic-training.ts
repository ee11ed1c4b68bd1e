/**
 * Trains an index without being asked: once it is large enough for probing to beat a scan of everything, and again whenever it has doubled.
 * Where several processes train at once, the commit of one counts and the others begin again or give up; if a process ends before it is
 * done, the next write of any process finds it due.
 */

import { type Manifest, rowsAtMost } from "../../state/commit/manifest.js";
import type { Job } from "../open/maintenance.js";
import type { OpenIndex } from "../open/open-index.js";
import { train } from "./train.js";

/**
 * Below this a scan of everything takes a few milliseconds, and is exact. Probing is faster from 2,500 items on, but at 10,000
 * it is so by more than ten times.
 */
export const itemsMin = 10_000;
/** An index is trained again when it is this many times as large: over its life, trainings then write each row about twice. */
export const growth = 2;

export function automaticTraining(index: OpenIndex): Job {
  /** How many rows there seemed to be when a count found that there were fewer, or a training nothing to learn from. */
  let countedAt = 0;
  /** Without counting: rows that newer ones replaced are still counted in. */
  const seemsDue = (manifest: Manifest | undefined) => {
    if (manifest === undefined) return false;
    const rows = rowsAtMost(manifest);
    // Where a count found fewer, the next one is as far away as the training that it is for.
    return rows >= trainedFrom(manifest) && rows >= growth * countedAt;
  };
  return {
    name: "training",
    isHeavy: true,
    isDue: () => seemsDue(index.log.known),
    async run(signal) {
      const snapshot = await index.snapshots.newest();
      const { manifest } = snapshot;
      if (!seemsDue(manifest)) return;
      const items = await snapshot.countIn(snapshot.unnamed);
      if (items < trainedFrom(manifest)) countedAt = rowsAtMost(manifest);
      else {
        await train(index, { signal });
        // It learned nothing: all items are zero vectors.
        if (index.log.known?.model?.name === manifest.model?.name) countedAt = rowsAtMost(manifest);
      }
    },
  };
}

/** How many items an index has to have to be trained, or trained again. */
function trainedFrom({ model }: Manifest): number {
  return model === undefined ? itemsMin : growth * model.items;
}
