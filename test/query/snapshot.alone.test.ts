/** What a snapshot knows of its segments and items, compared with a plain model of what was written. */

import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fingerprint } from "../../src/crypto/keys.js";
import { seededRandom } from "../../src/engine/random.js";
import { findIn, newestRows } from "../../src/query/snapshot/find-rows.js";
import type { HeldSnapshot } from "../../src/query/snapshot/open-snapshots.js";
import { bySegment, type OpenSegment, type Snapshot } from "../../src/query/snapshot/snapshot.js";
import { tombstone } from "../../src/state/segment/id-table.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, type Opened } from "../protocol/open.js";
import { idsOf, indexesOfSuite, itemsOf, named, type Write, write } from "./histories.js";

const record = fixedRecord();
const { newIndex, openOver } = indexesOfSuite(record);

const ignore = () => undefined;
const print = (id: string) => fingerprint(record.keys.id, id);

describe("a snapshot", () => {
  let open: Opened;
  let held: HeldSnapshot;
  let snapshot: Snapshot;
  let ids: string[][];
  const writes: readonly Write[] = [
    { stored: named(0, 120), deleted: [] },
    { stored: named(100, 140), deleted: [] },
    { stored: [], deleted: named(0, 10) },
    { stored: ["3", "200"], deleted: [] },
  ];

  beforeAll(async () => {
    open = await newIndex();
    for (const each of writes) await write(open, each);
    await open.index.upsert(itemsOf(named(0, 30)), { namespace: "other" });
    await open.index.upsert(itemsOf(named(20, 40)), { namespace: "other" });
    await open.index.upsert(itemsOf(["3", "7"]), { namespace: "single" });
  });

  /** Nothing is remembered of the tests before. */
  beforeEach(async () => {
    held = await open.inner.snapshots.hold();
    snapshot = held.snapshot;
    ids = await Promise.all(snapshot.segments.map(idsOf));
  });

  afterEach(() => held.release());

  test("has the segments of each namespace, and knows which of them are newer", () => {
    expect(snapshot.segments.length).toBe(7);
    const groups = snapshot.namespaces;
    expect(groups.map((group) => group.length).toSorted()).toEqual([1, 2, 4]);
    for (const group of groups) {
      expect(new Set(group.map(({ ref }) => ref.namespace)).size).toBe(1);
      group.forEach(({ ref }, i) => {
        expect(snapshot.newerThan(ref)).toEqual(group.slice(i + 1));
      });
    }
    const unnamed = groups.find(([{ ref }]) => ref.namespace === undefined);
    expect(snapshot.unnamed).toEqual(unnamed);
    expect(snapshot.stored).toEqual(snapshot.segments);
    expect(
      snapshot.segments
        .map(({ namespace }) => namespace)
        .filter(Boolean)
        .toSorted(),
    ).toEqual(["other", "other", "single"]);
  });

  test("needs of the newest id tables as many as can shadow a segment", () => {
    const newest = snapshot.newestReaders(100);
    // The oldest of each namespace shadows nothing.
    expect(newest.length).toBe(4);
    const sequenceOf = (reader: unknown) =>
      snapshot.segments.find((each) => each.reader === reader)?.ref.sequence;
    const sequences = newest.map(sequenceOf);
    expect(sequences).toEqual(sequences.toSorted((a, b) => Number(b) - Number(a)));
    expect(snapshot.newestReaders(2)).toEqual(newest.slice(0, 2));
    expect(snapshot.newestReaders(0)).toEqual([]);
    for (const segment of snapshot.segments) {
      const needed = new Set(snapshot.newestReaders(snapshot.newerSegments(segment)));
      const newer = snapshot.newerThan(segment.ref);
      for (const { reader } of newer) expect(needed.has(reader)).toBe(true);
      if (newer.length === 0) expect(needed.size).toBe(0);
    }
  });

  test("finds the newest version of each item, in all namespaces or in its own", async () => {
    const sought = ["3", "5", "99", "110", "135", "200", "unknown", "25"];
    const newestOf = (id: string) =>
      writes.findLastIndex(({ stored, deleted }) => [...stored, ...deleted].includes(id));
    const found = await snapshot.find(sought.map(print));
    expect(found.map((ref) => ref && ids[snapshot.segments.indexOf(ref.segment)][ref.row])).toEqual(
      sought.map((id) => {
        const newest = newestOf(id);
        return newest !== -1 && writes[newest].stored.includes(id) ? id : null;
      }),
    );
    expect(found.map((ref) => ref && snapshot.unnamed.indexOf(ref.segment))).toEqual([
      3,
      null,
      0,
      1,
      1,
      3,
      null,
      0,
    ]);
    expect(await snapshot.findStored(sought.map(print))).toEqual(found);
    const everywhere = await snapshot.findIds(sought.map(print));
    const place = ({ segment, position }: (typeof everywhere)[number]) =>
      `${segment.namespace} ${sought[position]}`;
    expect(everywhere.map(place).toSorted()).toEqual(
      ["3", "99", "110", "135", "200", "25"]
        .map((id) => `undefined ${id}`)
        .concat(["other 3", "other 5", "other 25", "single 3"])
        .toSorted(),
    );
    for (const { segment, row, position, fingerprint: own } of everywhere) {
      expect(ids[snapshot.segments.indexOf(segment)][row]).toBe(sought[position]);
      expect(await segment.reader.find([own])).toEqual([row]);
    }
  });

  test("finds items in any number, some at a time", async () => {
    const many = named(0, 2500).map(print);
    const rows = await newestRows(snapshot.unnamed, many);
    expect(rows.length).toBe(2500);
    expect(rows.filter((row) => row !== null).length).toBe(140 - 10 + 1 + 1);
    const pieces: number[] = [];
    for await (const { sought, rows: found } of findIn(snapshot.unnamed, many)) {
      pieces.push(sought);
      expect(found.map((each) => each.length)).toEqual(Array(4).fill(sought));
    }
    expect(pieces).toEqual([1000, 1000, 500]);
    pieces.length = 0;
    for await (const { sought } of findIn(snapshot.unnamed, many.slice(0, 1000))) pieces.push(sought);
    expect(pieces).toEqual([1000]);
    expect(await newestRows(snapshot.unnamed, [])).toEqual([]);
  });

  test("counts live items, of everything and of each namespace", async () => {
    expect(await snapshot.count()).toBe(132 + 40 + 2);
    expect(await snapshot.count()).toBe(132 + 40 + 2);
    expect(await snapshot.countIn([])).toBe(0);
    const counts = await Promise.all(snapshot.namespaces.map((group) => snapshot.countIn(group)));
    expect(counts.toSorted((a, b) => a - b)).toEqual([2, 40, 132]);
  });

  test("pins nothing once it has counted or visited, and makes no table if nothing is newer", async () => {
    const single = snapshot.segments.find(({ namespace }) => namespace === "single") as OpenSegment;
    expect(await snapshot.countIn([single])).toBe(2);
    await snapshot.forEachEntry(single, () => true, ignore);
    expect(snapshot.cache.idle().length).toBe(0);
    await snapshot.countIn(snapshot.unnamed);
    expect(snapshot.cache.idle().length).toBe(1);
    const [, second] = snapshot.unnamed;
    const shadow = await snapshot.pinShadow(second);
    expect(snapshot.cache.idle().length).toBe(1);
    shadow.release();
    await snapshot.forEachEntry(second, () => true, ignore);
    expect(snapshot.cache.idle().length).toBe(2);
  });

  test("visits the entries of a segment that no newer one has", async () => {
    const visited = async (segment: OpenSegment, isWanted: (row: number) => boolean) => {
      const rows: number[] = [];
      await snapshot.forEachEntry(segment, isWanted, (entry) => {
        expect(entry.length).toBe(5);
        rows.push(entry[4]);
      });
      return rows.toSorted((a, b) => a - b);
    };
    const [first, second, third, fourth] = snapshot.unnamed;
    const own = ids[snapshot.segments.indexOf(first)];
    const rowsOf = (wanted: readonly string[]) =>
      own.flatMap((id, row) => (wanted.includes(id) ? [row] : []));
    expect(await visited(first, () => true)).toEqual(rowsOf(named(10, 100)));
    expect(await visited(first, (row) => row < 5)).toEqual(rowsOf(named(10, 100)).filter((row) => row < 5));
    expect((await visited(second, () => true)).length).toBe(40);
    // Nine tombstones: "3" was stored again.
    expect(await visited(third, () => true)).toEqual(Array(9).fill(tombstone));
    expect(await visited(third, (row) => row !== tombstone)).toEqual([]);
    expect((await visited(fourth, () => true)).length).toBe(2);
  });

  test("says what shadows an item of a segment, in any order of questions", async () => {
    const [first, second, , last] = snapshot.unnamed;
    const words = (id: string) => new Uint32Array(print(id).slice().buffer);
    for (const order of [
      [first, second, last],
      [last, second, first],
    ]) {
      for (const segment of order) {
        const shadow = await snapshot.pinShadow(segment);
        const newer = writes.slice(snapshot.unnamed.indexOf(segment) + 1);
        const has = new Set(newer.flatMap(({ stored, deleted }) => [...stored, ...deleted]));
        for (const id of ["0", "3", "9", "10", "99", "100", "139", "200", "none"]) {
          const [w0, w1, w2, w3] = words(id);
          expect([id, shadow.has(w0, w1, w2, w3)]).toEqual([id, has.has(id)]);
        }
        shadow.release();
      }
    }
  });

  test("groups things by their segments, in their order", () => {
    const [a, b] = snapshot.segments;
    const things = [a, b, a, a, b].map((segment, i) => ({ segment, i }));
    const groups = [...bySegment(things)];
    expect(groups.map(([segment]) => segment)).toEqual([a, b]);
    expect(groups.map(([, group]) => group.map(({ i }) => i))).toEqual([
      [0, 2, 3],
      [1, 4],
    ]);
  });

  test("without a model has all blocks in no list", () => {
    const { all, firsts, newerSegmentsMax, rowsMax } = snapshot.listBlocks;
    expect(snapshot.listBlocks).toBe(snapshot.listBlocks);
    expect(firsts).toEqual([0, all.length]);
    expect(snapshot.ungroupedListBlocks).toEqual(all);
    expect(all.map(({ number }) => number)).toEqual([...all.keys()]);
    expect(all.map(({ block }) => block)).toEqual(
      snapshot.segments.flatMap(({ reader }) => [...reader.footer.codes]),
    );
    for (const { segment, newerSegments } of all) expect(newerSegments).toBe(snapshot.newerSegments(segment));
    expect(newerSegmentsMax).toBe(Math.max(...all.map(({ newerSegments }) => newerSegments)));
    expect(rowsMax).toBe(120);
    expect(snapshot.growth).toBe(1);
  });
});

test("a count reads the oldest rows one by one if few items are newer, and else as a whole", async () => {
  for (const [newer, isWhole] of [
    [29, false],
    [30, true],
    [31, true],
  ] as const) {
    const open = await newIndex();
    await write(open, { stored: named(0, 30), deleted: [] });
    await write(open, { stored: named(20, 20 + newer), deleted: [] });
    const snapshot = await open.inner.snapshots.newest();
    const [{ reader }] = snapshot.segments;
    for (const { evict } of reader.cache.idle()) evict();
    expect(await snapshot.count()).toBe(20 + newer);
    expect(reader.openedTable() !== undefined).toBe(isWhole);
  }
});

test("a count that failed is made again", async () => {
  let fails = false;
  const inner = createMemoryStore();
  const read: typeof inner.read = async (name, ...rest) => {
    if (fails) throw new Error("no answer");
    return inner.read(name, ...rest);
  };
  const open = await newIndex({ ...inner, read });
  await write(open, { stored: named(0, 30), deleted: [] });
  await write(open, { stored: named(20, 40), deleted: [] });
  const snapshot = await open.inner.snapshots.newest();
  for (const { reader } of snapshot.segments) for (const { evict } of reader.cache.idle()) evict();
  fails = true;
  await expect(snapshot.count()).rejects.toThrow("no answer");
  fails = false;
  expect(await snapshot.count()).toBe(40);
});

test("rows that were written while the index was trained are in no list", async () => {
  const inner = createMemoryStore();
  const late = openOver(inner);
  let meanwhile: (() => Promise<void>) | undefined;
  const create: typeof inner.create = async (name, ...rest) => {
    const once = meanwhile;
    meanwhile = undefined;
    await once?.();
    return inner.create(name, ...rest);
  };
  const open = await newIndex({ ...inner, create });
  await write(open, { stored: named(0, 200), deleted: [] });
  // While training stores what it made.
  meanwhile = () => write(late, { stored: named(200, 230), deleted: [] });
  await open.index.train({ nLists: 4 });
  await write(open, { stored: named(230, 250), deleted: [] });
  const snapshot = await open.inner.snapshots.newest();
  const { all, firsts } = snapshot.listBlocks;
  expect(firsts.length).toBe(4 + 2);
  const ungrouped = snapshot.ungroupedListBlocks;
  expect(ungrouped.map(({ block }) => block.rows)).toEqual([30]);
  expect(ungrouped.map(({ segment }) => segment.ref.model)).toEqual([undefined]);
  const lists = [0, 1, 2, 3].map((list) => snapshot.listBlocksOf(list));
  expect([...lists.flat(), ...ungrouped]).toEqual(all);
  for (const [list, blocks] of lists.entries()) {
    for (const { block, segment } of blocks) {
      expect([block.list, segment.ref.model]).toEqual([list, snapshot.manifest.model?.name]);
    }
  }
  expect(lists.flat().reduce((sum, { block }) => sum + block.rows, 0)).toBe(220);
});

test("growth is what the index holds at most, relative to what it was trained on", async () => {
  const open = await newIndex();
  await write(open, { stored: named(0, 200), deleted: [] });
  await open.index.train({ nLists: 4 });
  const growth = async () => (await open.inner.snapshots.newest()).growth;
  expect(await growth()).toBe(1);
  await write(open, { stored: named(200, 300), deleted: [] });
  expect(await growth()).toBe(1.5);
  await write(open, { stored: [], deleted: named(0, 250) });
  const shrunk = await growth();
  expect(shrunk).toBeLessThan(1.5);
  expect(shrunk).toBeGreaterThanOrEqual(50 / 200);
});

test("counts agree with a model, of histories in which old or new segments hold most items", async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random() * n);
    const open = await newIndex();
    const live = new Set<string>();
    for (let step = 0; step < 8; step++) {
      const ids = Array.from(
        { length: 1 + below(seed % 2 === 0 ? 60 : 6) + (step === 0 ? 30 : 0) },
        () => `${below(80)}`,
      );
      const stored = step > 0 && random() < 0.4 ? [] : ids;
      await write(open, stored.length > 0 ? { stored, deleted: [] } : { stored: [], deleted: ids });
      for (const id of ids)
        if (stored.length > 0) live.add(id);
        else live.delete(id);
      const snapshot = await open.inner.snapshots.newest();
      expect(await snapshot.count()).toBe(live.size);
    }
  }
});
