/** Compares the index with the source when all rows are moved. */

import { isDeepStrictEqual } from "node:util";
import type { Metric, VectorIndex } from "sealdex/core";
import { ExactScan } from "./exact-scan.js";
import type { Source } from "./source.js";
import { type MovedItem, toItem } from "./to-item.js";

const sampledItems = 100;
const queries = 20;
const topK = 10;
const pageItems = 1000;
const namedMax = 5;

export interface CheckResult {
  readonly rows: number;
  /** Different ids among the rows with vectors. */
  readonly ids: number;
  /** Items in the index, or in its namespace. */
  readonly items: number;
  /** Rows without a vector, which were not moved: their number, and some ids. */
  readonly withoutVector: number;
  readonly withoutVectorIds: readonly string[];
  readonly missing: number;
  readonly missingIds: readonly string[];
  /** Sampled items that were compared, and those that differ. */
  readonly compared: number;
  readonly different: readonly string[];
  /** Undefined if the index holds other items too, or no vectors, or if ids were repeated, whose earlier rows the scan has too. */
  readonly recall: number | undefined;
  /** How many values of each path and kind JSON cannot hold. */
  readonly converted: ReadonlyMap<string, number>;
}

export interface CheckOptions {
  readonly source: Source;
  readonly index: VectorIndex;
  readonly namespace: string | undefined;
  readonly onProgress: (rows: number) => void;
}

interface Sample {
  readonly vector?: Float32Array;
  readonly contents?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Reads the whole source once more. */
export async function check({ source, index, namespace, onProgress }: CheckOptions): Promise<CheckResult> {
  const scope = namespace === undefined ? {} : { namespace };
  const { metric, type, precision } = await index.describe();
  const hasVectors = type === "ivfflat" && precision === "float32";
  const items = await index.count(scope);
  const samples = await sample(index, items, hasVectors, scope);
  const scan = await startScan(index, metric, samples, scope);
  const ids = new Set<string>();
  const converted = new Map<string, number>();
  const note = (path: string, kind: string) => {
    const name = `${path}: ${kind}`;
    converted.set(name, (converted.get(name) ?? 0) + 1);
  };
  const differing = new Map<string, boolean>();
  const withoutVectorIds: string[] = [];
  const missingIds: string[] = [];
  let [rows, withoutVector, missing] = [0, 0, 0];
  let page: string[] = [];
  const findPage = async () => {
    const found = new Set((await index.get(page, { include: [], ...scope })).map(({ id }) => id));
    const absent = page.filter((id) => !found.has(id));
    missing += absent.length;
    missingIds.push(...absent.slice(0, namedMax - missingIds.length));
    page = [];
  };
  for await (const row of source.rows()) {
    rows++;
    const item = toItem(row, note);
    if (item === undefined) {
      withoutVector++;
      if (withoutVectorIds.length < namedMax) withoutVectorIds.push(row.id ?? `row ${rows}`);
      continue;
    }
    const known = samples.get(item.id);
    // Of rows with equal ids the last counts.
    if (known) differing.set(item.id, !isEqual(item, known));
    scan?.add(item.id, item.vector);
    if (!ids.has(item.id)) page.push(item.id);
    ids.add(item.id);
    if (page.length === pageItems) {
      await findPage();
      onProgress(rows);
    }
  }
  await findPage();
  return {
    rows,
    ids: ids.size,
    items,
    withoutVector,
    withoutVectorIds,
    missing,
    missingIds,
    compared: differing.size,
    different: Array.from(differing).flatMap(([id, differs]) => (differs ? [id] : [])),
    recall: items === ids.size && ids.size === rows - withoutVector ? scan?.recall : undefined,
    converted,
  };
}

type Scope = { readonly namespace?: string };

/** Items at random positions in the order of ids. */
async function sample(
  index: VectorIndex,
  items: number,
  hasVectors: boolean,
  scope: Scope,
): Promise<ReadonlyMap<string, Sample>> {
  const positions = new Set<number>();
  while (positions.size < Math.min(items, sampledItems)) positions.add(Math.floor(Math.random() * items));
  const ids: string[] = [];
  let seen = 0;
  for (let after: string | undefined; ;) {
    const page = await index.listIds({ limit: 10_000, ...(after !== undefined && { after }), ...scope });
    ids.push(...page.filter((_, i) => positions.has(seen + i)));
    seen += page.length;
    after = page.at(-1);
    if (after === undefined) break;
  }
  const fields = hasVectors
    ? (["vector", "contents", "metadata"] as const)
    : (["contents", "metadata"] as const);
  const found: readonly (Sample & { readonly id: string })[] = await index.get(ids, {
    include: fields,
    ...scope,
  });
  return new Map(found.map((item) => [item.id, item]));
}

/** Undefined if there are no vectors to ask with. */
async function startScan(
  index: VectorIndex,
  metric: Metric,
  samples: ReadonlyMap<string, Sample>,
  scope: Scope,
): Promise<ExactScan | undefined> {
  const vectors = Array.from(samples.values(), ({ vector }) => vector)
    .filter((vector) => vector !== undefined)
    .slice(0, queries);
  if (vectors.length === 0) return undefined;
  // As LangChain's store asks.
  const matches = await index.query({ queryVectors: vectors, topK, nProbes: 0, ...scope });
  return new ExactScan(
    metric,
    vectors,
    matches.map((list) => list.map(({ id }) => id)),
    topK,
  );
}

function isEqual(item: MovedItem, { vector, contents, metadata }: Sample): boolean {
  const hasVector =
    vector === undefined ||
    (vector.length === item.vector.length && vector.every((value, i) => value === item.vector[i]));
  return hasVector && contents === item.contents && isDeepStrictEqual(metadata, item.metadata);
}
