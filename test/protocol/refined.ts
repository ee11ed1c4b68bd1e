/** Refinements whose lists are chosen at random, so that they have something to move in the smallest index; and what they rest on. */

import { vacatedIn } from "../../src/commit/vacated-lists.js";
import { adoptRefined, writtenWith } from "../../src/encrypted-index/adopt-refined.js";
import { liveBlocks } from "../../src/encrypted-index/live-blocks.js";
import type { OpenIndex } from "../../src/encrypted-index/open-index.js";
import { listCount } from "../../src/engine/model.js";
import { gaussian } from "../engine/data.js";

/** Gives some lists centroids at random, and adds one. Returns false if there is no model, or if others were first. */
export async function refineAtRandom(inner: OpenIndex, random: () => number): Promise<boolean> {
  return inner.snapshots.readNewest(async (snapshot) => {
    const { model, stored } = snapshot;
    if (model === undefined || stored.length === 0) return false;
    const d = model.dimension;
    const nLists = listCount(model);
    const changed = new Set(Array.from({ length: nLists }, (_, list) => list).filter(() => random() < 0.3));
    const centroids = new Float32Array((nLists + 1) * d);
    centroids.set(model.centroids);
    for (const list of [...changed, nLists]) {
      for (let i = 0; i < d; i++) centroids[list * d + i] = gaussian(random);
    }
    const spreads = Float32Array.of(...model.spreads, 1);
    const sequences = [...new Set(stored.map(({ ref }) => ref.sequence))];
    const from = sequences[Math.floor(random() * sequences.length)];
    const newest = stored.filter(({ ref }) => ref.sequence >= from);
    const refined = { model: { ...model, centroids, spreads }, changed, items: await snapshot.count() };
    const written = writtenWith(snapshot, newest, changed);
    return (await adoptRefined(inner, snapshot, { ...refined, written }, { signal: undefined })) !== null;
  });
}

/** Throws if a live row is in a list that its segment has vacated. Returns how many blocks of such lists there are. */
export async function checkVacated(inner: OpenIndex): Promise<number> {
  return inner.snapshots.readNewest(async (snapshot) => {
    const seen = new Set<string>();
    for await (const { segment, block, kept, fingerprints } of liveBlocks(snapshot, snapshot.stored)) {
      if (vacatedIn(segment.ref)(block.list)) throw new Error("a live row is in a list that was vacated");
      for (const row of kept) seen.add(fingerprints.subarray(4 * row, 4 * row + 4).join());
    }
    if (seen.size !== (await snapshot.count())) throw new Error(`${seen.size} rows are counted as others`);
    let vacated = 0;
    for (const { ref, reader } of snapshot.stored) {
      const own = [...reader.footer.codes].filter(({ list }) => vacatedIn(ref)(list));
      const rows = own.reduce((sum, block) => sum + block.rows, 0);
      if (rows !== (ref.vacated?.rows ?? 0))
        throw new Error(`${rows} rows were vacated, not as the manifest says`);
      vacated += own.length;
    }
    return vacated;
  });
}
