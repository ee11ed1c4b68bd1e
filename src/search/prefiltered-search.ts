/**
 * The search among just the rows that match a selective filter. It is exact, whatever number of lists is probed, and
 * reads no block without a match.
 */

import { QueryVector } from "../engine/query-vector.js";
import { flatScanner } from "../engine/scanner.js";
import { Search } from "../engine/search.js";
import type { Found } from "./found.js";
import type { Matches } from "./matches.js";
import { pinIdTables } from "./pinned-id-tables.js";
import { type PrefilteredPiece, pinPrefiltered, unpinPrefiltered } from "./prefiltered-rows.js";
import type { SearchScope } from "./search-scope.js";
import type { OpenSegment } from "./snapshot.js";

/** Rows of a piece that was scanned. */
interface ScannedPiece {
  readonly segment: OpenSegment;
  /** Row numbers in the segment, of all its pieces. */
  readonly rows: readonly number[];
  readonly piece: PrefilteredPiece;
}

/** Compares a query with every row that matches. */
export async function searchPrefiltered(
  { searcher: { config }, snapshot }: SearchScope,
  matches: Matches,
  vector: Float32Array,
  topK: number,
): Promise<Found> {
  const wanted = [...matches.rows].filter(([, { count }]) => count > 0);
  const newerThan = ({ ref }: OpenSegment) =>
    snapshot.segments.filter((other) => other.ref.sequence > ref.sequence).length;
  const newerSegments = wanted.map(([segment]) => newerThan(segment));
  const pinning = pinIdTables(snapshot.newestReaders(Math.max(...newerSegments)));
  // Awaited below; until then a failure must not count as unhandled.
  pinning.catch(() => undefined);
  const results = await Promise.allSettled(
    wanted.map(([{ reader }, matching]) => pinPrefiltered(config, reader, matching)),
  );
  const query = new QueryVector(config.metric, vector, undefined);
  const search = new Search(query, flatScanner(query), topK);
  const release = [() => search.free(), () => query.free()];
  results.forEach(({ status }, i) => {
    const [{ reader }, matching] = wanted[i];
    if (status === "fulfilled") release.push(() => unpinPrefiltered(reader, matching));
  });
  try {
    const pinned = await pinning;
    release.push(pinned.release);
    search.shadowBy(pinned.tables);
    const scanned: ScannedPiece[] = [];
    results.forEach((result, i) => {
      if (result.status === "rejected") throw result.reason;
      const { rows, pieces } = result.value;
      const jobs = pieces.map((piece) => ({
        block: scanned.push({ segment: wanted[i][0], rows, piece }) - 1,
        codes: piece.codes,
        distance: undefined,
        pruned: false,
        newerSegments: newerSegments[i],
        accepted: 0,
        firstBit: 0,
      }));
      search.scan(jobs);
    });
    const candidates = search.finish();
    const places = candidates.map(({ block, row }) => {
      const { segment, rows, piece } = scanned[block];
      return { segment, row: rows[piece.firstPlace + row] };
    });
    return { candidates, places };
  } finally {
    for (const each of release) each();
  }
}
