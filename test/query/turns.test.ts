/** Other work of the process runs between the pieces of long searches, as a clock shows that goes on with each look at it. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { fingerprint } from "../../src/crypto/keys.js";
import { newestRows } from "../../src/query/snapshot/find-rows.js";
import { hiddenRows } from "../../src/query/words/hidden-rows.js";
import { forEachRow, loadTerm, loadTexts } from "../../src/query/words/live-texts.js";
import { searchText } from "../../src/query/words/search-words.js";
import type { Snapshot } from "../../src/query/snapshot/snapshot.js";
import { loadCursor } from "../../src/state/segment/words/term-reader.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { createAnalyzer } from "../../src/text/analyzer.js";
import type { TextDefinition } from "../../src/text/text-options.js";
import { parseTextQuery } from "../../src/text/text-query.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";
import { turnsDuring } from "../engine/turns.js";

const text: TextDefinition = {
  analyzer: { version: 1, language: "english", stemming: true, stopWords: false },
  fields: [{ path: "contents", weight: 1 }],
  k1: 1.5,
  b: 0.75,
};
const analyzer = createAnalyzer(text.analyzer);
const record = fixedRecord(text);
const rows = 2 ** 14 + 700;
/** More than are held at a time, and fewer than one in 16 of the rows. */
const replaced = 1050;

let open: Opened;
let snapshot: Snapshot;

beforeAll(async () => {
  open = openIndex(record, createMemoryStore(), systemClock);
  await open.inner.log.createFirst();
  await open.index.upsert(
    Array.from({ length: rows }, (_, i) => ({
      id: `${i}`,
      vector: [i % 7, 1],
      contents: i % 500 === 0 ? "heron lake" : "lake",
    })),
  );
  await open.index.upsert(Array.from({ length: replaced }, (_, i) => ({ id: `${i}`, vector: [i % 7, 2] })));
  snapshot = await open.inner.snapshots.newest();
});

afterAll(() => open.close());

/** As if each look at the clock took longer than anything may hold the event loop. */
const turnsOf = (work: () => Promise<unknown>) => turnsDuring(work, 10);

const printsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => fingerprint(record.keys.id, `${i}`));

test("rows of postings are visited 4096 at a time", async () => {
  const texts = await loadTexts(snapshot);
  const { lists } = await loadTerm(snapshot, texts, "lake");
  const { reader } = texts.segments[0].segment;
  const [list] = lists;
  if (list === undefined) throw new Error("no list");
  const cursor = await loadCursor(reader, list);
  const visited: number[] = [];
  const turns = await turnsOf(() =>
    forEachRow(cursor, (row) => {
      expect(cursor.row).toBe(row);
      visited.push(row);
    }),
  );
  expect(visited).toEqual([...Array(rows).keys()]);
  expect(turns).toBe(5);
});

test("items are looked for 1000 at a time", async () => {
  const prints = printsOf(2500);
  const find = (count: number) => newestRows(snapshot.segments, prints.slice(0, count));
  expect((await find(2500)).filter((row) => row === null)).toEqual([]);
  expect(await turnsOf(() => find(1000))).toBe(0);
  expect(await turnsOf(() => find(1001))).toBe(1);
  expect(await turnsOf(() => find(2500))).toBe(2);
});

test("rows that few newer entries hide are looked for 1000 at a time", async () => {
  const [segment] = snapshot.segments;
  for (const { evict } of segment.reader.cache.idle()) evict();
  await newestRows(snapshot.segments, printsOf(replaced));
  await snapshot.segments[1].reader.pinTable();
  snapshot.segments[1].reader.unpinTable();
  const turns = await turnsOf(() => hiddenRows(snapshot, segment));
  // Between entries that are gathered, 64 at a time, and twice when they are looked for.
  expect(turns).toBe(Math.floor(replaced / 64) + 2);
  expect((await hiddenRows(snapshot, segment)).count).toBe(replaced);
  // The table of newer entries is not pinned any more.
  const newer = snapshot.segments[1].reader;
  for (const { evict } of newer.cache.idle()) evict();
  expect(newer.openedTable()).toBeUndefined();
});

test("texts are scored 16384 rows at a time, and phrases are looked for row by row", async () => {
  const find = (query: string) =>
    searchText(snapshot, {
      query: parseTextQuery(query, analyzer),
      parameters: { k1: 1.5, b: 0.75 },
      topK: 1000,
    });
  const live = Math.ceil(rows / 500) - Math.ceil(replaced / 500);
  expect((await find("heron")).rows.length).toBe(live);
  expect((await find("lake")).rows.length).toBe(1000);
  expect(await turnsOf(() => find("heron"))).toBe(1);
  expect(await turnsOf(() => find("lake"))).toBe(1);
  expect((await find('+"heron lake"')).rows.length).toBe(live);
  const turns = await turnsOf(() => find('+"heron lake"'));
  expect(turns).toBe(Math.ceil(rows / 500) + 1);
});
