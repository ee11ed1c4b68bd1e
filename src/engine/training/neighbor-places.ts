/** In which lists the neighbors of queries lie, for each of some depths: recall curves are learned from it. */

import { distanceRatio } from "../lists/probe-limits.js";
import type { ObservedNeighbors, ScanLimits } from "../recall-curves.js";
import { countBelow } from "../select-smallest.js";
import type { Work } from "../work.js";
import type { SimulatedQuery } from "./far-queries.js";
import { forEachDepth } from "./held-out.js";

/** Queries whose lists within limits are counted. */
const countedMax = 300;

/** A query: its squared distances from the lists, and the same ascending. */
interface Asked {
  readonly toLists: Float32Array;
  readonly sorted: Float32Array;
}

interface Places {
  readonly ranks: number[];
  readonly ratios: number[];
  readonly outside: number[];
  readonly far: number[];
  /** Of each neighbor: its row, and which of the queries it is one of. */
  readonly rows: number[];
  readonly queries: number[];
}

export class NeighborPlaces {
  /** The list of each row of the sample. */
  readonly lists: Uint32Array;
  readonly #depths: readonly number[];
  readonly #places: readonly Places[];
  readonly #asked: Asked[] = [];

  /** `depths`: numbers of neighbors, in rows of the sample. */
  constructor(lists: Uint32Array, depths: readonly number[]) {
    this.lists = lists;
    this.#depths = depths;
    this.#places = depths.map(() => ({
      ranks: [],
      ratios: [],
      outside: [],
      far: [],
      rows: [],
      queries: [],
    }));
  }

  /** For each depth. */
  get observed(): readonly ObservedNeighbors[] {
    return this.#places;
  }

  /** Adds a query among similar rows. Returns how many there are. */
  addAmong({ toRows, toLists }: SimulatedQuery): number {
    const sorted = toLists.slice().sort();
    forEachDepth(toRows, this.#depths, (i, rows) => {
      for (const row of rows) {
        const square = toLists[this.lists[row]];
        const rank = countBelow(sorted, square);
        this.#places[i].ranks.push(rank);
        this.#places[i].ratios.push(distanceRatio(rank, square, sorted[0]));
        this.#places[i].rows.push(row);
        this.#places[i].queries.push(this.#asked.length);
      }
    });
    return this.#asked.push({ toLists, sorted });
  }

  /** Adds the distance ratios of the lists of a query's neighbors, relative to the nearest list that has a row left. */
  addOutside({ toRows, toLists }: SimulatedQuery, kind: "outside" | "far"): void {
    const isLeft = new Uint8Array(toLists.length);
    for (let row = 0; row < toRows.length; row++) if (toRows[row] < Infinity) isLeft[this.lists[row]] = 1;
    const sorted = toLists.filter((_, list) => isLeft[list] === 1).sort();
    forEachDepth(toRows, this.#depths, (i, rows) => {
      for (const row of rows) {
        const square = toLists[this.lists[row]];
        this.#places[i][kind].push(distanceRatio(countBelow(sorted, square), square, sorted[0]));
      }
    });
  }

  /** The rows that are neighbors. */
  *neighbors(): Work<Set<number>> {
    const neighbors = new Set<number>();
    for (const { rows } of this.#places) {
      for (const row of rows) neighbors.add(row);
      yield;
    }
    return neighbors;
  }

  /** Lists that are within limits of some queries, on average. */
  listsWithin({ probes, ratio }: Pick<ScanLimits, "probes" | "ratio">): number {
    const counted = this.#asked.slice(0, countedMax);
    let lists = 0;
    for (const { sorted } of counted) {
      const most = Math.min(probes, sorted.length);
      let within = 1;
      // Ratios ascend, too.
      while (within < most && distanceRatio(within, sorted[within], sorted[0]) <= ratio) within++;
      lists += within;
    }
    return lists / Math.max(1, counted.length);
  }

  /**
   * The same as `observed` by the nearer one of a neighbor's two lists. `seconds` has the second list of each neighbor. Ratios of queries
   * outside are those of first lists.
   */
  *inEither(seconds: Uint32Array): Work<ObservedNeighbors[]> {
    const either: ObservedNeighbors[] = [];
    for (const { rows, queries, outside, far } of this.#places) {
      const asked = queries.map((query) => this.#asked[query]);
      const nearer = rows.map((row, i) =>
        Math.min(asked[i].toLists[this.lists[row]], asked[i].toLists[seconds[row]]),
      );
      const ranks = nearer.map((square, i) => countBelow(asked[i].sorted, square));
      const ratios = nearer.map((square, i) => distanceRatio(ranks[i], square, asked[i].sorted[0]));
      either.push({ ranks, ratios, outside, far });
      yield;
    }
    return either;
  }
}
