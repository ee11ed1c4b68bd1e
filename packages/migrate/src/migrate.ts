/** Moves a source into an index: copies, trains, checks. */

import { SealdexError, type VectorIndex } from "sealdex/core";
import { check, type CheckResult } from "./check.js";
import { copyRows } from "./copy-rows.js";
import type { FieldNames } from "./fields.js";
import { invalid, type Row, type Source, type SourceDescription } from "./source.js";
import type { Progress, StateFile } from "./state-file.js";
import type { NewIndex, Target } from "./target.js";
import type { Plan } from "./report.js";

/** As the library's automatic training. */
const trainedFrom = 10_000;
const plannedRows = 100;

export interface Migration {
  readonly source: Source;
  /** With other fields, rows mean something else. */
  readonly fields: FieldNames;
  readonly target: Target;
  readonly indexName: string;
  readonly namespace: string | undefined;
  readonly newIndex: NewIndex;
}

/** `total`: undefined if it is not known. */
type OnProgress = (done: number, total: number | undefined, phase: string) => void;

/** Writes nothing. */
export async function plan({ source, target, indexName }: Migration): Promise<Plan> {
  const description = await source.describe();
  const rows: Row[] = [];
  for await (const row of source.rows()) {
    rows.push(row);
    if (rows.length === plannedRows) break;
  }
  const index = (await target.exists()) ? await target.load() : undefined;
  const existing = index && { ...(await index.describe()), items: await index.count() };
  return { source: source.name, description, rows, target: indexName, existing };
}

/** Resumes by the state file, which is gone when all rows are there. */
export async function migrate(
  migration: Migration,
  state: StateFile,
  onProgress: OnProgress,
): Promise<CheckResult> {
  const { source, fields, target, indexName, namespace } = migration;
  const description = await source.describe();
  const name = JSON.stringify([source.name, description.version, fields, indexName, namespace ?? null]);
  const { index, resumed } = await openIndex(migration, description, await state.read(name));
  const total = description.rows;
  await copyRows({
    source,
    index,
    namespace,
    migration: name,
    state,
    resumed,
    onProgress: (rows) => onProgress(rows, total, "rows"),
  });
  if (!target.trainsItself && (await isToTrain(index))) {
    await index.train({
      onProgress: ({ phase, done, total: all }) => onProgress(done, all, `training: ${phase}`),
    });
  }
  const result = await check({
    source,
    index,
    namespace,
    onProgress: (rows) => onProgress(rows, total, "rows checked"),
  });
  await state.remove();
  return result;
}

interface Opened {
  readonly index: VectorIndex;
  readonly resumed: Progress | undefined;
}

async function openIndex(
  { target, newIndex }: Migration,
  description: SourceDescription,
  progress: Progress | undefined,
): Promise<Opened> {
  const metric = newIndex.metric ?? description.metric;
  if (!(await target.exists())) {
    return { index: await target.create({ ...newIndex, metric }), resumed: undefined };
  }
  const index = await target.load();
  const own = (await index.describe()).metric;
  const order = (name: string | undefined) => (name === "squared_euclidean" ? "euclidean" : name);
  if (metric !== undefined && order(own) !== order(metric)) {
    throw invalid(
      `the index compares by ${own}, the rows by ${metric}: --metric ${own} moves them nevertheless`,
    );
  }
  if (progress === undefined) return { index, resumed: undefined };
  try {
    return { index: await target.load(progress.anchor), resumed: progress };
  } catch (error) {
    // Another index of this name, or an older state: its rows are not those of the state file.
    if (error instanceof SealdexError && error.code === "rollback_detected")
      return { index, resumed: undefined };
    throw error;
  }
}

async function isToTrain(index: VectorIndex): Promise<boolean> {
  const { trained } = await index.describe();
  return !trained && (await index.count()) >= trainedFrom;
}
