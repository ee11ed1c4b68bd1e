/**
 * Searches of shards in other processes. A router opens a collection, but asks leaves for the rows that are nearest to a vector, so that the vectors
 * of a shard are read and kept by its leaves alone.
 */

import type { KeyObject } from "node:crypto";
import type { CompiledFilter } from "../api/filter/compile.js";
import { currentProfile } from "../async/profile.js";
import { SealdexError } from "../errors.js";
import type { NamingKeys } from "../keys/key-ring.js";
import type { SearchElsewhere, SnapshotPart } from "./combined-snapshot.js";
import type { ShardRef } from "../state/commit/manifest.js";
import type { Probing } from "./list-limits.js";
import type { SearchResult } from "./scan-list-blocks.js";
import type { OpenSegment, Snapshot } from "./snapshot/snapshot.js";

/** A search of a collection, whose filter and namespace are checked. */
export interface ShardSearch extends Probing {
  readonly collection: CollectionNaming;
  /** All of one length. */
  readonly vectors: readonly Float32Array[];
  readonly filter: CompiledFilter | undefined;
  /** Undefined: all items. */
  readonly namespace: string | undefined;
  /** Undefined: all shards have to be searched. */
  readonly allowPartialAfterMs?: number | undefined;
}

/** How a collection names its shards, and the namespaces in all of them. */
export interface CollectionNaming {
  /** 16 bytes, in hexadecimal digits. */
  readonly id: string;
  readonly keys: NamingKeys;
}

/** A shard at one state. */
export interface ShardAddress extends ShardRef {
  /** One of them, usually the only one, opens the shard. */
  readonly keys: readonly KeyObject[];
}

/** A row that a search found. */
export interface ShardRow {
  /** The name of its segment. */
  readonly segment: string;
  readonly row: number;
  readonly score: number;
}

/** The nearest rows of each shard for each vector, nearest first; undefined for a shard that is left out. */
export type SearchShards = (
  search: ShardSearch,
  shards: readonly ShardAddress[],
  signal: AbortSignal | undefined,
) => Promise<readonly (ShardRows | undefined)[]>;

/** For each vector, rows of one shard. */
export type ShardRows = readonly (readonly ShardRow[])[];

export function foundRows({ candidates, rows }: SearchResult): ShardRow[] {
  return rows.map(({ segment, row }, i) => ({ segment: segment.ref.name, row, score: candidates[i].score }));
}

interface Addressed extends Pick<ShardSearch, "collection" | "namespace"> {
  /** Of all parts, in their order. */
  readonly shards: readonly ShardAddress[];
}

/** Has the parts of a snapshot searched by leaves. */
export function searchByLeaves(
  searchShards: SearchShards,
  { collection, shards, namespace }: Addressed,
  parts: readonly SnapshotPart[],
): SearchElsewhere {
  const asked = [...parts.keys()].filter((part) => parts[part].snapshot.segments.length > 0);
  const addresses = asked.map((part) => shards[part]);
  return async (vectors, { topK, effort, filter, allowPartialAfterMs, signal }) => {
    const results = parts.map(() => vectors.map((): SearchResult => ({ candidates: [], rows: [] })));
    if (topK === 0 || asked.length === 0) return results;
    const search = { collection, vectors, topK, effort, filter, namespace, allowPartialAfterMs };
    const found = await searchShards(search, addresses, signal);
    for (const [i, part] of asked.entries()) {
      const rows = found[i];
      if (rows !== undefined) results[part] = resultsOf(parts[part].snapshot, rows);
      else currentProfile()?.add({ shardsMissing: 1 });
    }
    return results;
  };
}

/** Rows that a leaf found, as the router has them open. Throws `internal` if the snapshot cannot have them. */
function resultsOf({ segments }: Snapshot, found: ShardRows): SearchResult[] {
  const byName = new Map(segments.map((segment) => [segment.ref.name, segment]));
  return found.map((own) => ({
    candidates: own.map(({ row, score }) => ({ score, block: 0, row })),
    rows: own.map(({ segment, row }) => ({ segment: openSegment(byName.get(segment), row), row })),
  }));
}

function openSegment(segment: OpenSegment | undefined, row: number): OpenSegment {
  if (segment !== undefined && row < segment.reader.footer.rows) return segment;
  throw new SealdexError("internal", "leaf: it found a row that the state of the shard does not have");
}
