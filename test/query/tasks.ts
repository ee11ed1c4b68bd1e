/** Tasks of searches, run to their ends. */

import type { Model } from "../../src/engine/model.js";
import type { SearchResult } from "../../src/query/scan-list-blocks.js";
import { findMatches as matchesTask, type Matches } from "../../src/query/matches.js";
import { searchPrefiltered as prefilteredTask } from "../../src/query/query-prefiltered.js";
import {
  nearest as nearestTask,
  query as queryTask,
  queryEach as queryEachTask,
} from "../../src/query/query.js";
import { readItems as readItemsTask } from "../../src/query/read-items.js";
import type { Searcher } from "../../src/query/searcher.js";
import { run, type Task } from "../../src/engine/threads/run.js";
import type { Match, StoredItem } from "../../src/api/vector-index.js";

export function findMatches(...args: Parameters<typeof matchesTask>): Promise<Matches> {
  return run(matchesTask(...args));
}

export function nearest(...args: Parameters<typeof nearestTask>): Promise<SearchResult> {
  return run(nearestTask(...args));
}

export function query(...args: Parameters<typeof queryTask>): Promise<Match[]> {
  return run(queryTask(...args));
}

export function queryEach(...args: Parameters<typeof queryEachTask>): Promise<Match[][]> {
  return run(queryEachTask(...args));
}

export function readItems(...args: Parameters<typeof readItemsTask>): Promise<StoredItem[]> {
  return run(readItemsTask(...args));
}

export function searchPrefiltered(...args: Parameters<typeof prefilteredTask>): Promise<SearchResult> {
  return run(prefilteredTask(...args));
}

/** Whether a model is in memory. Opens it if it is not. */
export async function isModelOpen(searcher: Searcher, model: Model): Promise<boolean> {
  const { cacheMisses } = searcher.memory();
  await searcher.withTrained(model, () => undefined);
  return searcher.memory().cacheMisses === cacheMisses;
}

/** A task that waits for nothing. */
export function* immediately<T>(value: T): Task<T> {
  yield* [];
  return value;
}
