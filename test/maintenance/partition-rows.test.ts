import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import type { RowBatch } from "../../src/index/maintenance/live-row-batches.js";
import { partitionRows } from "../../src/index/maintenance/partition-rows.js";
import { type Row, rowsOf } from "../../src/state/segment/row.js";
import { codedRows, vectorRows } from "../../src/state/segment/row-source.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { uniform } from "../engine/data.js";
import { rowsOf as vectorsOf } from "../engine/oracle.js";
import { fixedRecord, openIndex } from "../protocol/open.js";
import { turnsDuring } from "../engine/turns.js";

const dimension = 2;
const rowBytes = 3;

/** Row number `i`, of which every part tells `i`. */
function row(i: number): Row {
  const fingerprint = new Uint8Array(16);
  new DataView(fingerprint.buffer).setUint32(0, i);
  const contents = i % 3 === 0 ? null : new TextEncoder().encode("c".repeat(i % 7) + i);
  return { fingerprint, record: new TextEncoder().encode(`record ${i}`), contents };
}

const vectorOf = (i: number) => Float32Array.of(i, -i);
const codeOf = (i: number) => Uint8Array.of(i >>> 16, i >>> 8, i);

/** Rows `first` to `end`, whose lists are known if they are codes. */
function arriving(first: number, end: number, lists: readonly number[], kind: "vectors" | "codes"): RowBatch {
  const numbers = Array.from({ length: end - first }, (_, i) => first + i);
  const source =
    kind === "vectors"
      ? vectorRows(numbers.map(vectorOf), dimension)
      : codedRows(
          Uint8Array.from(numbers.flatMap((i) => [...codeOf(i)])),
          Uint32Array.from(numbers, (i) => lists[i]),
        );
  const deleted = first === 0 ? [row(2 ** 30).fingerprint] : [];
  return { batch: { dimension, rows: rowsOf(numbers.map(row)), source, deleted }, bytes: source.bytes };
}

async function partition(
  lists: readonly number[],
  kind: "vectors" | "codes",
  { nLists, limit, together }: { readonly nLists: number; readonly limit: number; readonly together: number },
): Promise<RowBatch[]> {
  let next = 0;
  async function* batches() {
    for (let first = 0; first < lists.length; first += together) {
      await Promise.resolve();
      yield arriving(first, Math.min(first + together, lists.length), lists, kind);
    }
  }
  const limits = { rows: limit, bytes: Infinity };
  const listsOf = ({ batch }: RowBatch) => {
    next += batch.rows.length;
    return Promise.resolve(Uint32Array.from(lists.slice(next - batch.rows.length, next)));
  };
  const written: RowBatch[] = [];
  for await (const batch of partitionRows(batches(), { dimension, nLists, limits, listsOf })) {
    written.push(batch);
  }
  return written;
}

const numberOf = ({ fingerprint: { buffer, byteOffset } }: Row) =>
  new DataView(buffer, byteOffset).getUint32(0);

test("every row is written once, with all that it has and its list, and what is deleted is in the first batch", async () => {
  const setting = fc
    .record({
      nLists: fc.integer({ min: 1, max: 12 }),
      limit: fc.integer({ min: 1, max: 60 }),
      together: fc.integer({ min: 1, max: 30 }),
      kind: fc.constantFrom("vectors" as const, "codes" as const),
    })
    .chain((of) =>
      fc.record({
        of: fc.constant(of),
        lists: fc.array(fc.integer({ min: 0, max: of.nLists - 1 }), { minLength: 1, maxLength: 300 }),
      }),
    );
  await fc.assert(
    fc.asyncProperty(setting, async ({ of, lists }) => {
      const written = await partition(lists, of.kind, of);
      expect(written.map(({ batch }) => batch.deleted.length)).toEqual(
        written.map((_, i) => (i === 0 ? 1 : 0)),
      );
      const seen: number[] = [];
      for (const { batch, bytes } of written) {
        const { rows, source } = batch;
        expect(rows.length).toBeLessThanOrEqual(2 * (of.limit + of.together));
        let held = 0;
        for (let at = 0; at < rows.length; at++) {
          const copy = rows.at(at);
          const i = numberOf(copy);
          seen.push(i);
          expect(copy.fingerprint).toEqual(row(i).fingerprint);
          expect(copy.record).toEqual(row(i).record);
          expect(copy.contents).toEqual(row(i).contents);
          held += copy.record.length + (copy.contents?.length ?? 0);
          expect(source.lists?.[at]).toBe(lists[i]);
          if (source.kind === "vectors") expect(source.vectorsAt(Uint32Array.of(at))).toEqual(vectorOf(i));
          else expect(source.codes.slice(at * rowBytes, (at + 1) * rowBytes)).toEqual(codeOf(i));
        }
        expect(bytes).toBeGreaterThanOrEqual(held + source.bytes);
      }
      expect(seen.sort((a, b) => a - b)).toEqual(lists.map((_, i) => i));
    }),
  );
});

test("a list is in few batches, of which there are not many more than without ranges", async () => {
  const [nLists, limit] = [30, 200];
  const lists = Array.from({ length: 8000 }, (_, i) => (i * 7) % nLists);
  const written = await partition(lists, "codes", { nLists, limit, together: 20 });
  const parts = written.flatMap(({ batch }) => [...new Set(batch.source.lists)]);
  expect(parts.length / nLists).toBeLessThan(0.35 * (lists.length / limit));
  expect(written.length).toBeLessThan(1.4 * (lists.length / limit));
});

test.each([
  ["long texts", 600, 32 * 1024],
  ["short texts", 20_000, 1],
])("other work runs while %s are copied", async (_, n, length) => {
  const { batch } = arriving(0, n, [], "vectors");
  const contents = new Uint8Array(length);
  const rows = rowsOf(Array.from({ length: n }, (__, i) => ({ ...row(i), contents })));
  async function* batches() {
    yield await Promise.resolve({ batch: { ...batch, rows }, bytes: n * length });
  }
  const listsOf = () => Promise.resolve(new Uint32Array(n));
  const limits = { rows: 2 * n, bytes: Infinity };
  const copying = () => partitionRows(batches(), { dimension, nLists: 1, limits, listsOf }).next();
  // At every look at the clock it is time for other work.
  expect(await turnsDuring(copying, 1000)).toBeGreaterThan(15);
});

test("an error while rows are assigned ends the partition", async () => {
  async function* batches() {
    for (let first = 0; ; first += 10) {
      await Promise.resolve();
      yield arriving(first, first + 10, [], "vectors");
    }
  }
  const listsOf = () => Promise.reject(new Error("no centroids"));
  const limits = { rows: 100, bytes: Infinity };
  const rows = partitionRows(batches(), { dimension, nLists: 3, limits, listsOf });
  await expect(rows.next()).rejects.toThrow("no centroids");
});

test("an index of more rows than are collected at once holds after a training what it held before, most lists in one segment", async () => {
  const [n, d] = [180_000, 4];
  const vectors = vectorsOf(uniform(n, d, 5), d);
  const { index, inner, close } = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await inner.log.createFirst();
  const item = (i: number) => ({
    id: `${i}`,
    vector: vectors[i],
    metadata: { i },
    ...(i % 1000 === 0 && { contents: `text ${i}` }),
  });
  for (let first = 0; first < n; first += 10_000) {
    await index.upsert(Array.from({ length: 10_000 }, (_, i) => item(first + i)));
  }
  await index.delete({ ids: Array.from({ length: 100 }, (_, i) => `${1000 * i + 1}`) });
  await index.upsert(Array.from({ length: 100 }, (_, i) => ({ ...item(1000 * i), vector: vectors[7] })));
  await index.train({ nLists: 60 });

  const parts = await inner.snapshots.readNewest(async ({ stored }) =>
    stored.flatMap(({ reader }) => [...new Set(Array.from(reader.footer.codes, ({ list }) => list))]),
  );
  expect(new Set(parts).size).toBe(60);
  expect(parts.length).toBeLessThan(1.6 * 60);
  expect(await index.count()).toBe(n - 100);
  const ids = Array.from({ length: 180 }, (_, i) => `${1000 * i}`);
  const held = await index.get(ids, { include: ["vector", "metadata", "contents"] });
  expect(held).toEqual(
    ids.map((_, i) => ({ ...item(1000 * i), vector: i < 100 ? vectors[7] : vectors[1000 * i] })),
  );
  await close();
});
