/** Metadata columns answer filters as the metadata themselves do, and say so where they cannot. */

import fc from "fast-check";
import { Query } from "mingo";
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
const path = fc
  .array(fc.constantFrom("a", "b", "0", "1", "", "$x", "__proto__"), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join("."))
  .filter((text) => !text.startsWith("$"));
const operand = fc.oneof({ weight: 5, arbitrary: scalar }, { weight: 1, arbitrary: value });
const operators = fc.oneof(
  fc
    .tuple(fc.constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"), operand)
    .map(([name, given]) => Object.fromEntries([[name, given]]) as unknown),
  fc
    .tuple(fc.constantFrom("$in", "$nin"), fc.array(operand, { maxLength: 4 }))
    .map(([name, given]) => Object.fromEntries([[name, given]]) as unknown),
  fc.boolean().map((present) => ({ $exists: present })),
);
const field = fc.tuple(path, operators).map((entry) => Object.fromEntries([entry]) as Metadata);
const { tree } = fc.letrec<{ tree: Metadata }>((tie) => {
  const trees = fc.array(tie("tree"), { minLength: 1, maxLength: 3 });
  return {
    tree: fc.oneof(
      { maxDepth: 2 },
      { weight: 3, arbitrary: field },
      { weight: 1, arbitrary: trees.map((parts) => ({ $or: parts }) as Metadata) },
      { weight: 1, arbitrary: trees.map((parts) => ({ $and: parts }) as Metadata) },
    ),
  };
});
const acceptable = (filter: unknown) => {
  try {
    compileFilter(filter);
    return true;
  } catch {
    return false;
  }
};

describe("compared with the metadata themselves", () => {
  test("thousands of random filters over random documents are never answered wrongly", () => {
    let rows = 0;
    let sure = 0;
    const documents = fc.array(metadata, { minLength: 1, maxLength: 12 });
    const property = fc.property(tree.filter(acceptable), documents, (filter, metadatas) => {
      rows += metadatas.length;
      sure += decided(filter, metadatas);
    });
    fc.assert(property, { numRuns: 8000 });
    // These documents are made to be hard: 96 % was measured.
    expect(sure / rows).toBeGreaterThan(0.9);
  });

  test("on plain documents columns decide everything, as mingo does", () => {
    const plain = fc.record(
      { a: fc.constantFrom<unknown>(null, 1, 2, "x", "y", true), b: fc.array(fc.constantFrom(1, 2, "x")) },
      { requiredKeys: [] },
    );
    const bound = fc.constantFrom<unknown>(1, 2, "x", true);
    const condition = fc.oneof(
      fc
        .tuple(fc.constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"), bound)
        .map(([name, given]) => ({ [name]: given })),
      fc
        .tuple(fc.constantFrom("$in", "$nin"), fc.array(fc.oneof(bound, fc.constant(null))))
        .map(([name, given]) => ({ [name]: given })),
      fc.boolean().map((present) => ({ $exists: present })),
    );
    const filters = fc.record(
      { a: condition, b: condition, $or: fc.array(fc.record({ a: condition }), { minLength: 1 }) },
      { requiredKeys: [] },
    );
    const property = fc.property(filters, fc.array(plain, { maxLength: 40 }), (filter, metadatas) => {
      const { root } = compileFilter(filter);
      const { certain, possible } = finish(evaluateColumns(root, columnsOf(metadatas), metadatas.length));
      const query = new Query(filter as ConstructorParameters<typeof Query>[0]);
      metadatas.forEach((one, row) => {
        const expected = query.test(one as Metadata);
        expect([hasRow(certain, row), hasRow(possible, row)]).toEqual([expected, expected]);
      });
    });
    fc.assert(property, { numRuns: 1500 });
  });

  test.each<[string, unknown, unknown[], number]>([
    [
      "equality with an object looks at the rows that have one",
      { a: { b: 1 } },
      [{ a: { b: 1 } }, { a: 1 }, {}],
      2,
    ],
    ["positions look at the rows with an array", { "a.0": 1 }, [{ a: [1] }, { a: { 0: 1 } }, { a: 1 }], 2],
    [
      "null behind an array looks at its rows",
      { "a.b": null },
      [{ a: [{ b: 1 }, {}] }, { a: 1 }, { a: {} }, {}],
      3,
    ],
    [
      "a long text is told from one that begins otherwise",
      { a: long },
      [{ a: long }, { a: "y" }, { a: `${long}!` }],
      1,
    ],
    ["and compared where the beginnings differ", { a: { $lt: "y" } }, [{ a: long }, { a: `y${long}` }], 2],
    [
      "presence needs no values",
      { a: { $exists: true } },
      [{ a: [] }, { a: {} }, { a: null }, { a: long }, {}],
      5,
    ],
    [
      "absence neither",
      { "a.b": { $exists: false } },
      [{ a: [] }, { a: [{ b: [] }, {}] }, { a: { b: null } }, {}],
      4,
    ],
    ["a dot in a key is no path", { "a.b": 1 }, [{ "a.b": 1 }, { a: { b: 1 } }], 2],
  ])("%s", (_, filter, metadatas, expected) => {
    expect(decided(filter, metadatas)).toBe(expected);
  });
});

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

describe("stored columns", () => {
  test("hold a full group of rows, sets as lists and as bits", () => {
    const rows = Array.from({ length: rowsPerColumnGroup + 100 }, (_, row) => ({
      unique: row,
      half: row % 2 === 0,
      rare: row % 1000 === 0 ? "yes" : "no",
    }));
    const records = rows.map((row) => encodeRecord({ id: "id", metadataJson: JSON.stringify(row) }));
    const found: { firstRow: number; rows: number; path: string | null }[] = [];
    for (const column of gatherColumns(rowsOfRecords(records))) {
      if (column === undefined) continue;
      const { bytes, ...place } = column;
      found.push(place);
      if (place.path === "unique") expect(new Column(bytes, place.rows).values).toHaveLength(place.rows);
    }
    const paths = ["unique", "half", "rare"];
    expect(found).toEqual([
      ...paths.map((name) => ({ firstRow: 0, rows: rowsPerColumnGroup, path: name })),
      ...paths.map((name) => ({ firstRow: rowsPerColumnGroup, rows: 100, path: name })),
    ]);
    const whole = rows.slice(0, rowsPerColumnGroup);
    for (const filter of [{ unique: { $gte: 777 } }, { half: true, rare: "yes" }, { rare: { $ne: "no" } }]) {
      expect(decided(filter, whole)).toBe(whole.length);
    }
  });

  test("are decoded or refused, whatever their bytes are", () => {
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
});
