/**
 * The snapshots of several indexes as one: of the shards of a collection, which share no item and compute fingerprints by one key.
 * Words, filters and listings read all segments as those of one index, so their statistics, ranks and orders are the same. Only
 * vectors are searched part by part, since each part has lists of its own.
 */

import type { CompiledFilter } from "../api/filter/compile.js";
import { plainResults } from "../api/served-index.js";
import type { CallOptions } from "../api/vector-index.js";
import { isPauseDue } from "../async/event-loop.js";
import { settleEach } from "../async/settle-each.js";
import type { Model } from "../engine/model.js";
import type { Candidate } from "../engine/top-k.js";
import { run, type Task, waitFor } from "../engine/threads/run.js";
import type { IndexCache } from "../state/cache/index-cache.js";
import type { Manifest } from "../state/commit/manifest.js";
import { readItems } from "./read-items.js";
import type { Probing } from "./list-limits.js";
import type { SearchResult } from "./scan-list-blocks.js";
import type { Searcher } from "./searcher.js";
import { fingerprintsIn } from "./snapshot/find-rows.js";
import {
  type Expired,
  type FoundId,
  type OpenSegment,
  type RowRef,
  type Shadow,
  Snapshot,
} from "./snapshot/snapshot.js";

export interface SnapshotPart {
  readonly searcher: Searcher;
  readonly snapshot: Snapshot;
}

/** The fingerprints of ids, which are the same in all parts, and which part has an item. */
export interface PartNaming {
  fingerprintOf(id: string): Uint8Array;
  partOf(fingerprint: Uint8Array): number;
}

interface PartsQuery extends CallOptions, Probing {
  readonly filter?: CompiledFilter;
  readonly allowPartialAfterMs?: number | undefined;
}

/** The results of all parts, in their order, each for all vectors. */
export type SearchElsewhere = (
  vectors: readonly Float32Array[],
  query: PartsQuery,
) => Promise<SearchResult[][]>;

/** Parts that are searched at a time: each holds codes in memory, and tables of each vector. */
export function partsTogether(vectors: readonly Float32Array[]): number {
  return vectors.length === 1 ? 16 : 4;
}

export class CombinedSnapshot extends Snapshot {
  readonly parts: readonly SnapshotPart[];
  readonly naming: PartNaming;
  /** Undefined: parts are searched here. */
  readonly searchElsewhere: SearchElsewhere | undefined;
  readonly #models: readonly Model[];
  readonly #owners: ReadonlyMap<OpenSegment, Snapshot>;

  constructor(
    manifest: Manifest,
    parts: readonly SnapshotPart[],
    naming: PartNaming,
    cache: IndexCache,
    searchElsewhere: SearchElsewhere | undefined,
  ) {
    const owned = parts.flatMap(({ snapshot }) =>
      snapshot.segments.map((segment) => ({ segment, snapshot })),
    );
    owned.sort((a, b) => a.segment.ref.sequence - b.segment.ref.sequence);
    const segments = owned.map(({ segment }) => segment);
    super(manifest, segments, undefined, cache, expiredOf(parts));
    this.parts = parts;
    this.naming = naming;
    this.searchElsewhere = searchElsewhere;
    this.#models = parts.flatMap(({ snapshot }) => snapshot.models);
    this.#owners = new Map(owned.map(({ segment, snapshot }) => [segment, snapshot]));
  }

  override get uses(): number {
    return super.uses;
  }

  override set uses(count: number) {
    for (const { snapshot } of this.parts) snapshot.uses += count - super.uses;
    super.uses = count;
  }

  override get models(): readonly Model[] {
    return this.#models;
  }

  override get keepsVectors(): boolean {
    return this.parts.every(({ snapshot }) => snapshot.keepsVectors);
  }

  override get namespaces(): OpenSegment[][] {
    return this.parts.flatMap(({ snapshot }) => snapshot.namespaces);
  }

  override newerThan(segment: OpenSegment): readonly OpenSegment[] {
    return this.#owners.get(segment)?.newerThan(segment) ?? [];
  }

  override async pinShadow(segment: OpenSegment): Promise<Shadow> {
    return this.#owners.get(segment)?.pinShadow(segment) ?? super.pinShadow(segment);
  }

  override async count(): Promise<number> {
    const counts = await Promise.all(this.parts.map(({ snapshot }) => snapshot.count()));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Asks of each part for its own items alone. */
  override async findIds(ids: readonly Uint8Array[]): Promise<FoundId[]> {
    const positions = this.parts.map((): number[] => []);
    for (const [position, id] of ids.entries()) positions[this.naming.partOf(id)].push(position);
    const found = await Promise.all(
      this.parts.map(async ({ snapshot }, part) => {
        const own = positions[part];
        const rows = own.length === 0 ? [] : await snapshot.findIds(own.map((position) => ids[position]));
        return rows.map((row) => ({ ...row, position: own[row.position] }));
      }),
    );
    return found.flat();
  }

  override async findStored(fingerprints: readonly Uint8Array[]): Promise<(RowRef | null)[]> {
    const found = await Promise.all(this.parts.map(({ snapshot }) => snapshot.findStored(fingerprints)));
    return fingerprints.map((_, i) => found.map((refs) => refs[i]).find((ref) => ref !== null) ?? null);
  }
}

/** The first expiry of one of the parts. */
function expiredOf(parts: readonly SnapshotPart[]): Expired {
  const all = parts.map(({ snapshot }) => snapshot.expired);
  return {
    items: new Map(all.flatMap(({ items }) => [...items])),
    next: Math.min(...all.map(({ next }) => next)),
    asOf: Math.max(...all.map(({ asOf }) => asOf)),
  };
}

interface Found {
  readonly candidate: Candidate;
  readonly ref: RowRef;
  readonly part: number;
}

/** The nearest rows of all parts, for each vector. `search` finds those of one part, in its order. */
export function* searchParts(
  snapshot: CombinedSnapshot,
  vectors: readonly Float32Array[],
  query: PartsQuery,
  search: (part: SnapshotPart, topK: number) => Task<SearchResult[]>,
): Task<SearchResult[]> {
  const { parts, naming, searchElsewhere } = snapshot;
  const { topK } = query;
  const searchHere = (part: SnapshotPart) => run(search(part, Math.min(topK, rowsOfPart(part))));
  const results = yield* waitFor(
    searchElsewhere?.(vectors, query) ?? settleEach(parts, partsTogether(vectors), searchHere),
  );
  const merged: SearchResult[] = [];
  for (const i of vectors.keys()) {
    const ofVector = results.map((part) => part[i]);
    merged.push(yield* merge(ofVector, topK, naming));
    if (isPauseDue()) yield;
  }
  return merged;
}

/** The nearest rows of the results of all parts. */
function* merge(results: readonly SearchResult[], topK: number, naming: PartNaming): Task<SearchResult> {
  /** Per part, the position of the next row. */
  const next = results.map(() => 0);
  const best: Found[] = [];
  while (best.length < topK) {
    let score = Infinity;
    for (let part = 0; part < next.length; part++) {
      score = Math.min(score, results[part].candidates.at(next[part])?.score ?? Infinity);
    }
    const equal: Found[] = [];
    let isOrdered = true;
    for (const [part, { candidates, rows }] of results.entries()) {
      for (; candidates.at(next[part])?.score === score; next[part]++) {
        isOrdered &&= equal.length === 0 || equal[0].part === part;
        equal.push({ candidate: candidates[next[part]], ref: rows[next[part]], part });
      }
    }
    if (equal.length === 0) break;
    for (const found of isOrdered ? equal : yield* inOrder(equal, naming)) best.push(found);
  }
  best.length = Math.min(best.length, topK);
  return { candidates: best.map(({ candidate }) => candidate), rows: best.map(({ ref }) => ref) };
}

function rowsOfPart({ snapshot }: SnapshotPart): number {
  return snapshot.segments.reduce((sum, { reader }) => sum + reader.footer.rows, 0);
}

/** Rows of equal score by the fingerprints of their ids, as kernels order them. */
function* inOrder(equal: readonly Found[], { fingerprintOf }: PartNaming): Task<Found[]> {
  const items = yield* readItems(
    equal.map(({ ref }) => ref),
    new Set(),
    plainResults,
  );
  const keyed = equal.map((one, i) => {
    const [own] = fingerprintsIn(one.ref.segment.ref.namespace, [fingerprintOf(items[i].id)]);
    return { one, words: new Uint32Array(Uint8Array.from(own).buffer) };
  });
  keyed.sort((a, b) => compareWords(a.words, b.words));
  return keyed.map(({ one }) => one);
}

function compareWords(a: Uint32Array, b: Uint32Array): number {
  const at = a.findIndex((word, i) => word !== b[i]);
  return at === -1 ? 0 : a[at] - b[at];
}
