/**
 * Which lists a filtered query should probe, so that its recall holds up against what the filter removes.
 *
 * Lists without a matching row are skipped. A filter that keeps a share s of the rows leaves the k-th match as far
 * away as the (k / s)-th row was; measured, 1 / sqrt(s) times the lists make up for that if matches are spread evenly
 * (bench/filters.mjs). If they are not, two more conditions keep a query from stopping early: it has seen as many
 * matches as an evenly spread filter would have given it, and the lists probed reach as far beyond the nearest one with
 * a match as those of an unfiltered query reach beyond the nearest of all. For a query whose own cluster the filter
 * removes that can be most lists: with a bound of four times the unfiltered number, recall fell from 0.966 to 0.948.
 */

import type { CoarseQuantizer, Probes } from "../engine/coarse-quantizer.js";
import type { QueryVector } from "../engine/query-vector.js";

/** A little more than the expected number of lists is looked up at once, so that a second look-up is rarely needed. */
const spareShare = 1.25;

export interface FilteredProbing {
  /** What an unfiltered query probes. */
  readonly lists: number;
  /** Matches that are wanted. */
  readonly topK: number;
  /** Share of all rows that match, above 0. */
  readonly share: number;
  /** How many rows a list has, and how many of them match. */
  countsOf(list: number): { readonly rows: number; readonly matches: number };
}

export function probeFiltered(
  quantizer: CoarseQuantizer,
  query: QueryVector,
  { lists, topK, share, countsOf }: FilteredProbing,
): Probes {
  const evenly = lists / Math.sqrt(share);
  let asked = Math.min(quantizer.nLists, Math.ceil(spareShare * evenly) + 1);
  for (;;) {
    const { lists: nearest, distances } = quantizer.probe(query, asked);
    const rows = nearest.slice(0, lists).reduce((sum, list) => sum + countsOf(list).rows, 0);
    const wanted = Math.max(topK, Math.sqrt(share) * rows);
    const margin = distances[lists - 1] - distances[0];
    const chosen: number[] = [];
    const chosenDistances: number[] = [];
    let seen = 0;
    let reach = Infinity;
    let done = false;
    for (let rank = 0; rank < nearest.length; rank++) {
      done = seen >= wanted && chosen.length >= lists && distances[rank] >= reach;
      if (done) break;
      const { matches } = countsOf(nearest[rank]);
      if (matches === 0) continue;
      if (chosen.length === 0) reach = distances[rank] + margin;
      chosen.push(nearest[rank]);
      chosenDistances.push(distances[rank]);
      seen += matches;
    }
    if (done || asked === quantizer.nLists) return { lists: chosen, distances: chosenDistances };
    asked = quantizer.nLists;
  }
}
