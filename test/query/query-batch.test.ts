/** Queries that are scanned together, and which of them search again alone. */

import { describe, expect, test } from "vitest";
import { compileFilter } from "../../src/api/filter/compile.js";
import { plan, type TrainedScope } from "../../src/query/plan.js";
import { type Probing } from "../../src/query/scan-limits.js";
import { queryEach as queryAll } from "./tasks.js";
import { searchTogether } from "../../src/query/query-batch.js";
import {
  all,
  automatic,
  border,
  filtered,
  nLists,
  queryOf,
  snapshot,
  usePlannedIndex,
  vectors,
} from "./planned-index.js";

usePlannedIndex();

describe("queries together", () => {
  const together = vectors.slice(100, 140).map((vector) => Float32Array.from(vector));

  test("know which of them have to search again alone", async () => {
    const alone = async (scope: TrainedScope, probing: Probing) =>
      new Set((await searchTogether(scope, together, probing, undefined)).map((found) => found.alone));
    expect(await alone(all, { ...automatic, effort: { lists: nLists } })).toEqual(new Set(["never"]));
    expect(await alone(all, automatic)).toEqual(new Set(["if short"]));
    const few = { ...automatic, effort: { lists: 4 } };
    const kinds = await searchTogether(all, together, few, undefined);
    for (const [i, { alone: kind }] of kinds.entries()) {
      const { unlikely } = plan(all, queryOf(together[i]), few);
      expect(kind).toBe(unlikely.blocks.length > 0 ? "if short" : "never");
    }
    expect(new Set(kinds.map(({ alone: kind }) => kind)).size).toBe(2);
    const scope = await filtered({ x: { $lt: border } });
    const found = await searchTogether(scope, together, automatic, undefined);
    for (const [i, { alone: kind, rows }] of found.entries()) {
      const { outlying } = plan(scope, queryOf(together[i]), automatic);
      expect(kind).toBe(outlying === undefined ? "if short" : "always");
      if (outlying !== undefined) expect(rows).toEqual([]);
    }
    expect(new Set(found.map(({ alone: kind }) => kind))).toEqual(new Set(["if short", "always"]));
    const filter = compileFilter({ x: { $lt: border } });
    const options = { ...automatic, filter, include: new Set(["distance"] as const), rawMetadata: false };
    const answers = await queryAll(scope.searcher, snapshot, together, options);
    expect(answers.map(({ length }) => length)).toEqual(together.map(() => 10));
  });
});
