/**
 * Centroids are rounded once, when they are learned, to int8 or float16 numbers times a scale (scalar.ts), so that a model is read in a quarter of the
 * bytes. What is stored decodes to them exactly: codes, radii and distances are of the rounded ones.
 *
 * A centroid that moves by e from the mean of its rows is farther from them by |e|^2 in the mean square. That has to be little of what
 * it is: rows that are far from the origin and near one another need more bits, and may need all.
 */

import type { ScalarPrecision } from "./config.js";
import type { Model } from "./model.js";
import { squaredL2 } from "./rows.js";
import { roundVectors } from "./scalar.js";
import { rowsOfPiece, type Work } from "./work.js";

/** The share by which the mean squared distance of a list's rows from its centroid may grow. */
const growthMax = 1 / 1024;
/** The smaller one first. */
const precisions: readonly ScalarPrecision[] = ["int8", "float16"];

/** Rounds the centroids of some lists, default: of all, each as far as its spread allows. */
export function* roundCentroids(
  { centroids, spreads, dimension }: Pick<Model, "centroids" | "spreads" | "dimension">,
  isRounded: (list: number) => boolean = () => true,
): Work<void> {
  const listsTogether = rowsOfPiece(4 * dimension);
  for (let first = 0; first < spreads.length; first += listsTogether) {
    const exact = centroids.subarray(first * dimension, (first + listsTogether) * dimension);
    const rounded = precisions.map((precision) => {
      const copy = exact.slice();
      roundVectors(copy, precision, dimension);
      return copy;
    });
    for (let at = 0; at < exact.length; at += dimension) {
      const list = first + at / dimension;
      // A spread that is beyond float32 says nothing.
      if (!isRounded(list) || spreads[list] === Infinity) continue;
      const near = rounded.find(
        (copy) => squaredL2(copy, at, exact, at, dimension) <= growthMax * spreads[list],
      );
      if (near !== undefined) exact.set(near.subarray(at, at + dimension), at);
    }
    yield;
  }
}
