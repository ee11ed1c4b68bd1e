/** A search of one block, from its vectors to the rows found. */

import type { Codec } from "../../src/engine/codes/codec.js";
import type { Metric } from "../../src/engine/config.js";
import { queryLayout } from "../../src/engine/kernels/kernels.wasm.js";
import { allocate, allWords, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { flatScanner } from "../../src/engine/scan/scanner.js";
import { Search } from "../../src/engine/scan/scan-blocks.js";
import { joined } from "./finish.js";

export interface Found {
  readonly row: number;
  readonly score: number;
}

/** The k nearest rows of one block, all of which are compared. `isRanking`: they are ranked as lists are, by scores in float32. */
export function scan(
  codec: Codec,
  metric: Metric,
  query: Float32Array,
  vectors: Float32Array,
  k: number,
  isRanking = false,
): Found[] {
  const n = vectors.length / query.length;
  if (codec.kind === "codes") throw new TypeError("expected vectors");
  const asking = new QueryVector(metric, query, undefined);
  if (isRanking) allWords()[(asking.address + queryLayout.rankOnly) >>> 2] = 1;
  const search = new Search(asking, flatScanner(asking), k);
  const fingerprints = allocate(16 * n);
  const codes = codec.load({ codes: joined(codec.encode(vectors, 0)), n }, fingerprints);
  // Equal scores are ordered by fingerprint, so by row here.
  wordsAt(fingerprints, 4 * n).fill(0);
  for (let row = 0; row < n; row++) wordsAt(fingerprints, 4 * n)[4 * row] = row;
  const job = {
    block: 0,
    codes,
    distance: undefined,
    pruned: false,
    newerSegments: 0,
    accepted: 0,
    firstBit: 0,
  };
  search.scan([job]);
  const found = search.finish();
  search.free();
  asking.free();
  codes.free();
  free(fingerprints);
  return found.map(({ row, score }) => ({ row, score }));
}
