/** An index with a model and two segments of its lists, and the queries and filters of tests of how it is searched. */

import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import type { Probes } from "../../src/engine/lists/coarse-quantizer.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import type { Matches } from "../../src/query/matches.js";
import { findMatches } from "./tasks.js";
import type { HeldSnapshot } from "../../src/query/snapshot/open-snapshots.js";
import { type TrainedScope } from "../../src/query/plan.js";
import { type Probing } from "../../src/query/scan-limits.js";
import type { ListBlock, Snapshot } from "../../src/query/snapshot/snapshot.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

export const d = 4;
export const nLists = 40;
export const vectors = rowsOf(clustered(3400, d, 30, 3), d);
export const metadata = vectors.map((vector, i) => ({ x: vector[0], i, rare: i % 50 }));
const sortedX = metadata.map(({ x }) => x).sort((a, b) => a - b);
/** Below it: three quarters of the rows, all on one side. */
export const border = sortedX[2550];

let open: Opened;
let held: HeldSnapshot;
export let snapshot: Snapshot;
export let all: TrainedScope;
const queries: QueryVector[] = [];

/** Opens the index for the tests of a file. */
export function usePlannedIndex(): void {
  beforeAll(async () => {
    open = openIndex(fixedRecord(), createMemoryStore(), systemClock);
    const { index, inner } = open;
    await inner.log.createFirst();
    const upsert = (start: number, end: number) =>
      index.upsert(
        vectors
          .slice(start, end)
          .map((vector, at) => ({ id: `${start + at}`, vector, metadata: metadata[start + at] })),
      );
    await upsert(0, 3200);
    await index.train({ nLists });
    await upsert(3200, 3400);
  });

  /** Nothing is remembered of the tests before. */
  beforeEach(async () => {
    const { snapshots, searcher } = open.inner;
    held = await snapshots.hold();
    snapshot = held.snapshot;
    const { model } = snapshot;
    if (model === undefined) throw new Error("trained");
    all = await searcher.withTrained(model, (trained) => ({
      searcher,
      snapshot,
      trained,
      matches: undefined,
    }));
  });

  afterEach(() => held.release());

  afterAll(async () => {
    for (const query of queries.splice(0)) query.free();
    await open.close();
  });
}

export function queryOf(vector: Float32Array): QueryVector {
  const query = new QueryVector("euclidean", vector, all.trained.quantizer.rotation);
  queries.push(query);
  return query;
}

export const asked = [0, 700, 1500, 3399];

export async function filtered(filter: unknown): Promise<TrainedScope & { readonly matches: Matches }> {
  return { ...all, matches: await findMatches(snapshot, compileFilter(filter)) };
}

export const automatic: Probing = { topK: 10, effort: { lists: undefined, recall: undefined } };

/** The blocks of the lists of these ranks that have a match, and how far each is. */
export function blocksOfRanks(
  { matches }: { readonly matches: Matches | undefined },
  probes: Probes,
  start: number,
  end: number,
) {
  const blocks: ListBlock[] = [];
  const distances: number[] = [];
  for (let rank = start; rank < Math.min(end, probes.lists.length); rank++) {
    for (const listBlock of snapshot.listBlocks.all) {
      const { block, segment } = listBlock;
      if (block.list !== probes.lists[rank]) continue;
      if (matches !== undefined && matches.rows.get(segment)?.blocks.get(block) === undefined) continue;
      blocks.push(listBlock);
      distances.push(probes.distances[rank]);
    }
  }
  return { blocks, distances };
}

export const none = { blocks: [], distances: [] };
