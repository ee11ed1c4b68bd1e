/** Which rows of a segment match a filter, and where they are, compared with the predicate. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import { filterDigest, pinMatching, unpinMatching } from "../../src/query/row-filter.js";
import type { Snapshot } from "../../src/query/snapshot/snapshot.js";
import { rowsPerColumnGroup, textMax } from "../../src/state/segment/columns.js";
import { recordMetadata } from "../../src/state/segment/row.js";
import { hasRow } from "../../src/state/segment/row-bits.js";
import type { SegmentReader } from "../../src/state/segment/segment-reader.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

/** Columns hold the beginning alone: these texts are told apart by records. */
const long = "x".repeat(textMax);
const rows = rowsPerColumnGroup + 150;
let large: Opened;
let lists: Opened;

async function newIndex(count: number): Promise<Opened> {
  const open = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await open.inner.log.createFirst();
  const items = Array.from({ length: count }, (_, i) => ({
    id: `${i}`,
    vector: [i % 60, i % 7],
    metadata: i % 6 === 0 ? { i, text: `${long}${i % 4}` } : { i, x: i % 60 },
  }));
  await open.index.upsert(items);
  return open;
}

beforeAll(async () => {
  large = await newIndex(rows);
  lists = await newIndex(900);
  await lists.index.train({ nLists: 12 });
});

afterAll(async () => {
  await large.close();
  await lists.close();
});

async function readerOf({ inner }: Opened): Promise<SegmentReader> {
  const { segments }: Snapshot = await inner.snapshots.newest();
  expect(segments.length).toBe(1);
  return segments[0].reader;
}

test.each([
  ["nothing", {}],
  ["what no row has", { i: -1 }],
  ["what the first row has", { i: 0 }],
  ["a border of column groups", { i: { $gte: rowsPerColumnGroup - 1, $lte: rowsPerColumnGroup } }],
  ["numbers", { x: { $lt: 10 } }],
  ["a long text", { text: `${long}2` }],
  ["no long text", { text: { $ne: `${long}2` } }],
  ["the last row, or a long text", { $or: [{ i: rows - 1 }, { text: `${long}0` }] }],
])("rows that match a filter by %s are counted per segment and block, and kept", async (_name, filter) => {
  const compiled = compileFilter(filter);
  for (const open of [large, lists]) {
    const reader = await readerOf(open);
    const all = Array.from({ length: reader.footer.rows }, (_, row) => row);
    const isMatch = (await reader.records(all)).map((record) => compiled.matches(recordMetadata(record)));
    const matching = await pinMatching(reader, compiled);
    expect(all.filter((row) => hasRow(matching.bits, row) !== isMatch[row])).toEqual([]);
    expect(matching.bits.length).toBe(Math.ceil(all.length / 32));
    expect(matching.count).toBe(isMatch.filter(Boolean).length);
    const expected = Array.from(reader.footer.codes).flatMap((block) => {
      const own = isMatch.slice(block.firstRow, block.firstRow + block.rows).filter(Boolean).length;
      return own === 0 ? [] : [[block, own] as const];
    });
    expect([...matching.blocks]).toEqual(expected);
    expect(matching.bytes).toBe(matching.bits.byteLength + 48 * expected.length);
    expect(matching.digest).toBe(filterDigest(compiled));
    // Pinned, so not among what may be evicted.
    for (const { evict } of reader.cache.idle()) evict();
    expect(await pinMatching(reader, compiled)).toBe(matching);
    unpinMatching(reader, compiled);
    unpinMatching(reader, compiled);
    for (const { evict } of reader.cache.idle()) evict();
    const again = await pinMatching(reader, compiled);
    expect(again).not.toBe(matching);
    expect(again).toEqual(matching);
    unpinMatching(reader, compiled);
  }
});

test("a call that is aborted stops, and others that wait for the same rows find them", async () => {
  const open = await newIndex(0);
  const text = "a".repeat(5000);
  await open.index.upsert(
    Array.from({ length: 60 }, (_, i) => ({
      id: `${i}`,
      vector: [i, 1],
      metadata: { text: `${text}${i}b`, i },
    })),
  );
  const reader = await readerOf(open);
  const parts = Array.from({ length: 20 }, (_, i) => ({ text: { $contains: `a${3 * i}b` } }));
  const compiled = compileFilter({ $or: [...parts, { $not: { text: { $contains: "a" } } }] });
  const controller = new AbortController();
  const stopped = pinMatching(reader, compiled, controller.signal);
  const other = pinMatching(reader, compiled);
  controller.abort(new Error("given up"));
  await expect(stopped).rejects.toThrow("given up");
  const { bits, count } = await other;
  expect(count).toBe(20);
  for (let i = 0; i < 60; i++) expect(hasRow(bits, i)).toBe(i % 3 === 0);
  unpinMatching(reader, compiled);
  await open.close();
});
