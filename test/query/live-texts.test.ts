/** Words of live rows in several segments, and what is remembered of them for the next query. */

import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import {
  type LiveTexts,
  loadTerm,
  loadTexts,
  openedTerm,
  openedTexts,
} from "../../src/query/words/live-texts.js";
import type { HeldSnapshot } from "../../src/query/snapshot/open-snapshots.js";
import { findTerms } from "../../src/query/words/query-terms.js";
import { searchText } from "../../src/query/words/search-words.js";
import { type RowRef, Snapshot } from "../../src/query/snapshot/snapshot.js";
import { recordId } from "../../src/state/segment/row.js";
import { BlockCache } from "../../src/state/cache/block-cache.js";
import { IndexCache } from "../../src/state/cache/index-cache.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { createAnalyzer } from "../../src/text/analyzer.js";
import type { TextDefinition } from "../../src/text/text-options.js";
import { parseTextQuery, type ParsedText } from "../../src/text/text-query.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

const text: TextDefinition = {
  analyzer: { version: 1, language: "english", stemming: true, stopWords: false },
  fields: [{ path: "contents", weight: 1 }],
  k1: 1.5,
  b: 0.75,
};
const parameters = { k1: 1.5, b: 0.75 };
const analyzer = createAnalyzer(text.analyzer);

let open: Opened;
let held: HeldSnapshot;
let snapshot: Snapshot;

beforeAll(async () => {
  open = openIndex(fixedRecord(text), createMemoryStore(), systemClock);
  const { index, inner } = open;
  await inner.log.createFirst();
  const item = (id: string, contents: string | undefined, i: number) => ({
    id,
    vector: [i, 1],
    ...(contents !== undefined && { contents }),
    metadata: { i },
  });
  await index.upsert([
    item("a", "heron heron lake", 0),
    item("b", "lake reed", 1),
    item("c", "zebra zürich", 2),
    item("d", undefined, 3),
    item("e", "gone words only", 4),
  ]);
  await index.upsert([item("b", "heron", 5), item("f", "hero heroic her running", 6)]);
  await index.upsert([{ id: "vector", vector: [9, 9] }]);
  await index.delete({ ids: ["e", "d"] });
});

beforeEach(async () => {
  held = await open.inner.snapshots.hold();
  snapshot = held.snapshot;
});

afterEach(() => held.release());

afterAll(() => open.close());

const parse = (query: string): ParsedText => parseTextQuery(query, analyzer);

async function idOf({ segment, row }: RowRef): Promise<string> {
  return recordId((await segment.reader.records([row]))[0]);
}

async function found(query: string, more: { readonly topK?: number; readonly filter?: unknown } = {}) {
  const { topK = 10, filter } = more;
  const search = {
    query: parse(query),
    parameters,
    topK,
    ...(filter !== undefined && { filter: compileFilter(filter) }),
  };
  const answer = await searchText(snapshot, search);
  return { ...answer, ids: await Promise.all(answer.rows.map(idOf)) };
}

test("a phrase needs all of its words in their order, and what is excluded counts as much as what is required", async () => {
  expect((await found('+"hero heroic her"')).ids).toEqual(["f"]);
  expect((await found('+"hero heroic running"')).ids).toEqual([]);
  expect((await found('+"heroic hero"')).ids).toEqual([]);
  expect((await found("+her -lake")).ids).toEqual(["f"]);
  expect((await found("+her -running")).ids).toEqual([]);
});

test("a search for nothing, or of nothing, reads nothing, and an aborted one ends", async () => {
  const search = { query: parse("heron"), parameters, topK: 10 };
  const [{ segment }] = (await found("lake")).rows;
  held.release();
  held = await open.inner.snapshots.hold();
  snapshot = held.snapshot;
  const { manifest, model } = snapshot;
  const cache = new IndexCache(new BlockCache(1_000_000));
  const empty = new Snapshot({ ...manifest, segments: [] }, [], model, cache);
  for (const [of, topK] of [
    [snapshot, 0],
    [empty, 10],
  ] as const) {
    const nothing = await searchText(of, { ...search, topK });
    expect([nothing.rows, nothing.scores]).toEqual([[], []]);
    expect(nothing.allows({ segment, row: 0 })).toBe(false);
    expect(openedTexts(of)).toBeUndefined();
  }
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(searchText(snapshot, { ...search, signal })).rejects.toThrow("enough");
});

describe("texts", () => {
  test("are summed up without replaced and deleted ones, once", async () => {
    expect(openedTexts(snapshot)).toBeUndefined();
    const texts = await loadTexts(snapshot);
    // a 3, b 1, c 2, f 4 words.
    expect(texts.corpus).toEqual({ rows: 4, length: 10 });
    expect(openedTexts(snapshot)).toBe(texts);
    expect(await loadTexts(snapshot)).toBe(texts);
  });

  test("have bits for live rows alone in segments with others", async () => {
    const texts = await loadTexts(snapshot);
    const [first, second, ...others] = texts.segments;
    expect(others.filter(({ segment }) => segment.reader.footer.rows > 1)).toEqual([]);
    const live: string[] = [];
    for (let row = 0; row < 5; row++) {
      if ((((first.live?.[0] ?? 0) >>> row) & 1) === 1)
        live.push(await idOf({ segment: first.segment, row }));
    }
    expect(live.toSorted()).toEqual(["a", "c"]);
    expect(second.live).toBeUndefined();
    expect(texts.bytes).toBe(4 + 64 * texts.segments.length);
  });

  test("have terms with their live rows, which are kept too", async () => {
    const texts = await loadTexts(snapshot);
    expect(openedTerm(snapshot, "heron")).toBeUndefined();
    const heron = await loadTerm(snapshot, texts, "heron");
    expect(openedTerm(snapshot, "heron")).toBe(heron);
    expect(heron.rows).toBe(2);
    expect(heron.lists.length).toBe(texts.segments.length);
    expect(heron.lists.slice(0, 2).map((list) => list?.rows)).toEqual([1, 1]);
    expect(heron.bytes).toBe(96 * texts.segments.length + 2 * 5);
    expect((await loadTerm(snapshot, texts, "lake")).rows).toBe(1);
    expect((await loadTerm(snapshot, texts, "gone")).rows).toBe(0);
    expect((await loadTerm(snapshot, texts, "none")).lists.every((list) => list === undefined)).toBe(true);
    expect((await loadTerm(snapshot, texts, "zürich")).rows).toBe(0);
    expect((await loadTerm(snapshot, texts, "zurich")).rows).toBe(1);
  });
});

describe("terms of a query", () => {
  const none: ParsedText = { terms: [], prefixes: [], required: [], excluded: [] };
  let texts: LiveTexts;

  beforeEach(async () => {
    texts = await loadTexts(snapshot);
  });

  test("are those that it scores, requires and excludes, also in phrases", async () => {
    const terms = await findTerms(snapshot, texts, {
      ...none,
      terms: [{ term: "heron", weight: 1 }],
      required: [{ kind: "term", term: "lake" }],
      excluded: [
        {
          kind: "phrase",
          terms: [
            { term: "reed", offset: 0 },
            { term: "zebra", offset: 1 },
          ],
        },
      ],
    });
    const rows = ["heron", "lake", "reed", "zebra", "run"].map((term) => terms.term(term).rows);
    expect(rows).toEqual([2, 1, 0, 1, 0]);
    expect(terms.term("zebra")).toBe(openedTerm(snapshot, "zebra"));
    expect(openedTerm(snapshot, "run")).toBeUndefined();
    const again = await findTerms(snapshot, texts, { ...none, terms: [{ term: "heron", weight: 1 }] });
    expect(again.term("heron")).toBe(terms.term("heron"));
    expect(again.term("heron").rows).toBe(2);
  });

  test("expand a prefix to those of live rows, in the order of their bytes, its own term last", async () => {
    const her = { kind: "prefix", prefix: "her" } as const;
    const hero = { kind: "prefix", prefix: "her", term: "hero" } as const;
    const absent = { kind: "prefix", prefix: "her", term: "words" } as const;
    const gone = { kind: "prefix", prefix: "wor", term: "gone" } as const;
    const other = { kind: "prefix", prefix: "z" } as const;
    const run = { kind: "prefix", prefix: "her", term: "run" } as const;
    const terms = await findTerms(snapshot, texts, {
      ...none,
      prefixes: [her, hero, run],
      required: [absent, her],
      excluded: [gone],
    });
    expect(terms.expanded(her)).toEqual(["her", "hero", "heroic", "heron"]);
    expect(terms.expanded(hero)).toEqual([...terms.expanded(her).filter((term) => term !== "hero"), "hero"]);
    expect(terms.expanded(run)).toEqual([...terms.expanded(her), "run"]);
    expect(terms.expanded(absent)).toEqual(terms.expanded(her));
    expect(terms.expanded(gone)).toEqual([]);
    expect(terms.expanded(other)).toEqual([]);
    for (const term of terms.expanded(her)) expect(terms.term(term).rows).toBeGreaterThan(0);
    expect(terms.term("run").rows).toBe(1);
  });

  test("expand a prefix beyond ASCII", async () => {
    const prefix = { kind: "prefix", prefix: "zu" } as const;
    const terms = await findTerms(snapshot, texts, { ...none, prefixes: [prefix] });
    expect(terms.expanded(prefix)).toEqual(["zurich"]);
  });
});

describe("a query by words", () => {
  test("finds the same cold and warm", async () => {
    const cold = await found("heron lake");
    expect(cold.ids).toEqual(["a", "b"]);
    const warm = await found("heron lake");
    expect(warm.ids).toEqual(cold.ids);
    expect(warm.scores).toEqual(cold.scores);
    // Partly warm: the term is known, other rows are not open.
    expect((await found("zebra heron")).ids.toSorted()).toEqual(["a", "b", "c"]);
  });

  test("for nothing finds nothing, and allows nothing", async () => {
    const nothing = await searchText(snapshot, { query: parse("heron"), parameters, topK: 0 });
    expect([nothing.rows, nothing.scores]).toEqual([[], []]);
    const [segment] = snapshot.segments;
    expect(nothing.allows({ segment, row: 0 })).toBe(false);
    expect((await found("")).ids).toEqual([]);
    expect((await found("none")).ids).toEqual([]);
    expect((await found("gone")).ids).toEqual([]);
  });

  test("in an empty index finds nothing", async () => {
    const empty = openIndex(fixedRecord(text), createMemoryStore(), systemClock);
    await empty.inner.log.createFirst();
    const search = { query: parse("-heron"), parameters, topK: 3 };
    const answer = await searchText(await empty.inner.snapshots.newest(), search);
    expect([answer.rows, answer.scores]).toEqual([[], []]);
    expect(answer.allows({ segment: snapshot.segments[0], row: 0 })).toBe(false);
    await empty.close();
  });

  test("with a filter finds matches alone, and does not limit what a vector may find", async () => {
    const { ids, allows } = await found("heron", { filter: { i: { $gte: 5 } } });
    expect(ids).toEqual(["b"]);
    for (const segment of snapshot.segments) {
      for (let row = 0; row < segment.reader.footer.rows; row++) expect(allows({ segment, row })).toBe(true);
    }
  });

  /** The ids of live rows that a vector may find too. */
  async function allowed(query: string): Promise<string[]> {
    const { allows } = await found(query);
    const live: string[] = [];
    for (const segment of snapshot.segments) {
      for (let row = 0; row < segment.reader.footer.rows; row++) {
        if (allows({ segment, row })) live.push(await idOf({ segment, row }));
      }
    }
    return live.toSorted();
  }

  test("that requires or excludes words limits what a vector may find", async () => {
    expect((await found("+lake")).ids).toEqual(["a"]);
    expect(await allowed("+lake")).toEqual(["a"]);
    expect(await allowed("+reed heron")).toEqual([]);
    expect(await allowed("heron -lake")).toEqual(["b", "c", "f", "vector"]);
    expect(await allowed('"heron lake"')).toEqual(["a"]);
    expect(await allowed("+none")).toEqual([]);
    expect((await found("her*")).ids.toSorted()).toEqual(["a", "b", "f"]);
    expect((await found("wor*")).ids).toEqual([]);
  });

  test("is aborted before it scans", async () => {
    const search = {
      query: parse("heron"),
      parameters,
      topK: 3,
      signal: AbortSignal.abort(new Error("enough")),
    };
    await expect(searchText(snapshot, search)).rejects.toThrow("enough");
  });
});
