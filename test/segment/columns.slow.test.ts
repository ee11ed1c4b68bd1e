/** Metadata columns answer filters as the metadata themselves do, and say so where they cannot. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { evaluateColumns } from "../../src/query/evaluate-columns.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import { Column, encodeColumn, rowsPerColumnGroup } from "../../src/state/segment/columns.js";
import { gatherColumns } from "../../src/state/segment/column-writer.js";
import { countRows, hasRow } from "../../src/state/segment/row-bits.js";
import { encodeRecord } from "../../src/state/segment/row.js";
import { finish } from "../engine/finish.js";
import { columnsOf, rowsOfRecords } from "./columns-of.js";

type Metadata = Record<string, unknown>;

/** How many rows the columns decide; fails where they decide wrongly. */
function decided(filter: unknown, metadatas: readonly unknown[]): number {
  const { root, matches } = compileFilter(filter);
  const { certain, possible } = finish(evaluateColumns(root, columnsOf(metadatas), metadatas.length));
  let count = 0;
  metadatas.forEach((metadata, row) => {
    const stored = JSON.parse(JSON.stringify(metadata)) as Metadata;
    const expected = matches(stored);
    const message = JSON.stringify([filter, metadata]);
    if (hasRow(certain, row)) expect(expected, message).toBe(true);
    if (!hasRow(possible, row)) expect(expected, message).toBe(false);
    if (hasRow(certain, row) === hasRow(possible, row)) count++;
  });
  // Bits beyond the last row would be rows that there are not.
  expect(countRows(possible, 0, 32 * possible.length)).toBe(countRows(possible, 0, metadatas.length));
  return count;
}

const long = "x".repeat(100);
const scalar = fc.constantFrom<unknown>(
  null,
  true,
  false,
  0,
  -0,
  1,
  -1.5,
  1e308,
  5e-324,
  "",
  "x",
  "y",
  "1",
  "2020-01-02",
  "2020-01-10T00:00:00Z",
  "Åsa",
  "\u{ffee}",
  "\u{1f600}",
  "\ud83d",
  long,
  `${long}a`,
  `${long}b`,
  `${"x".repeat(95)}\u{1f600}`,
);
const key = fc.constantFrom("a", "b", "0", "1", "", "$x", "__proto__", "a.b", "constructor");
const objectOf = (values: fc.Arbitrary<unknown>) =>
  fc.array(fc.tuple(key, values), { maxLength: 3 }).map((entries) => Object.fromEntries(entries) as unknown);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    { weight: 4, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
    { weight: 2, arbitrary: objectOf(tie("value")) },
  ),
}));
const metadata = objectOf(value);
describe("hostile metadata", () => {
  const common = (row: number) => ({ group: row % 10, tag: ["x", "y"] });
  const filter = { group: 3, tag: "x" };
  const keys = (prefix: string, n: number) =>
    Object.fromEntries(Array.from({ length: n }, (_, i) => [`${prefix}${i}`, i]));

  test("rows with thousands of keys leave the columns few, and the other rows decided", () => {
    const wide = (row: number) => keys(`key ${row} `, 2000);
    const metadatas = Array.from({ length: 200 }, (_, row) =>
      row % 20 === 0 ? { ...wide(row), ...common(row) } : common(row),
    );
    expect(columnsOf(metadatas).size).toBeLessThanOrEqual(65);
    expect(decided(filter, metadatas)).toBeGreaterThanOrEqual(180);
    expect(decided({ "key 20 1999": 1999 }, metadatas)).toBeGreaterThanOrEqual(180);
    expect(decided({ "key 20 1999": { $ne: 1999 } }, metadatas)).toBeGreaterThanOrEqual(180);
  });

  test.each([63, 64, 65, 200, 600])(
    "a row with %i other keys keeps the value that later rows give a column",
    (n) => {
      const wide = keys("k", n);
      const nested = { ...wide, deep: { in: { team: "legal" } }, list: [{ team: "legal" }] };
      const others = Array.from({ length: 40 }, () => ({
        team: "sales",
        deep: { in: { team: "sales" } },
        list: [],
      }));
      for (const metadatas of [
        [{ ...wide, team: "legal" }, ...others],
        [nested, ...others],
        [...others.slice(20), nested, { ...wide, team: "legal" }, ...others],
      ]) {
        for (const reached of ["team", "deep.in.team", "list.team", "list.0.team"]) {
          for (const condition of [
            "legal",
            null,
            { $ne: "legal" },
            { $ne: null },
            { $in: ["legal", null] },
          ]) {
            // At most the wide rows are left to their records, and what an array on the way leaves open.
            const all = reached.startsWith("list") ? 0 : metadatas.length - 2;
            expect(decided({ [reached]: condition }, metadatas)).toBeGreaterThanOrEqual(all);
          }
        }
      }
    },
  );

  test("some rows with keys of their own leave the other rows decided", () => {
    const metadatas = Array.from({ length: 200 }, (_, row) => ({
      ...(row < 7 && keys(`${row}:`, 100)),
      team: row % 2 === 0 ? "legal" : "sales",
    }));
    expect(decided({ team: "legal" }, metadatas)).toBe(193);
    expect(decided({ team: null }, metadatas)).toBe(193);
  });

  test("long arrays are left to the records", () => {
    const numbers = Array.from({ length: 5000 }, (_, i) => i);
    const metadatas = [{ a: numbers }, { a: numbers.slice(0, 64) }, { a: 70 }, {}, { a: numbers.slice(6) }];
    // The stored part of a long array may be enough, or not.
    expect(decided({ a: 70 }, metadatas)).toBe(3);
    expect(decided({ a: 20 }, metadatas)).toBe(5);
    expect(decided({ a: null }, metadatas)).toBe(3);
    const bytes = [
      ...gatherColumns(
        rowsOfRecords([encodeRecord({ id: "id", metadataJson: JSON.stringify({ a: numbers }) })]),
      ),
    ].reduce((sum, column) => sum + (column?.bytes.length ?? 0), 0);
    expect(bytes).toBeLessThan(1000);
  });

  test("columns are not larger than the metadata they are of, or little", () => {
    const property = fc.property(fc.array(metadata, { minLength: 50, maxLength: 200 }), (metadatas) => {
      const records = metadatas.map((one) => encodeRecord({ id: "id", metadataJson: JSON.stringify(one) }));
      const given = records.reduce((sum, record) => sum + record.length, 0);
      const bytes = [...gatherColumns(rowsOfRecords(records))].reduce(
        (sum, column) => sum + (column?.bytes.length ?? 0),
        0,
      );
      expect(bytes).toBeLessThan(2 * given + 64 * 24);
    });
    fc.assert(property, { numRuns: 200 });
  });

  test("metadata with a prototype key pollute nothing", () => {
    const metadatas = [JSON.parse('{"__proto__":{"a":1},"b":2}'), { b: 2 }] as unknown[];
    expect(decided({ "__proto__.a": 1 }, metadatas)).toBe(2);
    expect(decided({ a: 1 }, metadatas)).toBe(2);
    expect(({} as Metadata).a).toBeUndefined();
  });
});

test("stored columns are decoded or refused, whatever their bytes are", () => {
  const bytes = encodeColumn(
    [1, "x", ["long"]],
    [3, 4, 5].map((set) => set * rowsPerColumnGroup + set),
    40,
  );
  let refused = 0;
  const attempt = (given: Uint8Array) => {
    try {
      const column = new Column(given, 40);
      const bits = new Uint32Array(2);
      for (let set = 0; set < column.sets; set++) column.addTo(bits, set);
      expect(countRows(bits, 0, 64)).toBe(countRows(bits, 0, 40));
    } catch (error) {
      expect(error).toMatchObject({ name: "SealdexError", code: "corrupt" });
      expect(String(error)).not.toContain("long");
      refused++;
    }
  };
  for (let at = 0; at < bytes.length; at++) {
    attempt(bytes.subarray(0, at));
    for (let bit = 0; bit < 8; bit++) {
      const damaged = bytes.slice();
      damaged[at] ^= 1 << bit;
      attempt(damaged);
    }
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), attempt));
  expect(refused).toBeGreaterThan(bytes.length);
});
