/** What columns decide of a filter, row by row: yes, no, or that the record has to be read. */

import { expect, test } from "vitest";
import { compileFilter } from "../../src/api/filter/compile.js";
import { evaluateColumns, pathsOf } from "../../src/query/evaluate-columns.js";
import { hasRow } from "../../src/state/segment/row-bits.js";
import { finish } from "../engine/finish.js";
import { columnsOf } from "../segment/columns-of.js";

const long = "x".repeat(96);

/** Per row "+" (it matches), "-" or "?" (the record decides). */
function outcome(filter: unknown, rows: readonly unknown[]): string {
  const { root, matches } = compileFilter(filter);
  const { certain, possible } = finish(evaluateColumns(root, columnsOf(rows), rows.length));
  const signs = rows.map((row, i) => {
    const sign = hasRow(certain, i) ? "+" : hasRow(possible, i) ? "?" : "-";
    if (hasRow(certain, i)) expect(hasRow(possible, i)).toBe(true);
    if (sign !== "?")
      expect(matches(row as Record<string, unknown>), JSON.stringify([filter, row])).toBe(sign === "+");
    return sign;
  });
  for (let i = rows.length; i < 32 * possible.length; i++) expect(hasRow(possible, i)).toBe(false);
  return signs.join("");
}

const scalars = [{ a: 1 }, { a: 2 }, { a: "x" }, { a: null }, {}, { a: true }];
const structures = [
  { a: [1, 2] },
  { a: [] },
  { a: { b: 1 } },
  { a: [{ b: 1 }, {}] },
  { a: [[1]] },
  { a: 1 },
  {},
];
const texts = [{ a: long }, { a: `${long}y` }, { a: `${long}z` }, { a: "y" }, { a: ["y", `${long}y`] }, {}];

test.each<[unknown, readonly unknown[], string]>([
  [{ a: 1 }, scalars, "+-----"],
  [{ a: { $ne: 1 } }, scalars, "-+++++"],
  [{ a: null }, scalars, "---++-"],
  [{ a: { $ne: null } }, scalars, "+++--+"],
  [{ a: { $exists: true } }, scalars, "++++-+"],
  [{ a: { $exists: false } }, scalars, "----+-"],
  [{ a: { $in: [1, "x", null] } }, scalars, "+-+++-"],
  [{ a: { $nin: [1, "x", null] } }, scalars, "-+---+"],
  [{ a: { $in: [] } }, scalars, "------"],
  [{ a: { $nin: [] } }, scalars, "++++++"],
  [{ a: { $gt: 1 } }, scalars, "-+----"],
  [{ a: { $lte: 1 } }, scalars, "+-----"],
  [{ $or: [{ a: 1 }, { a: "x" }] }, scalars, "+-+---"],
  [{ $and: [{ a: { $gte: 1 } }, { a: { $lt: 2 } }] }, scalars, "+-----"],
  [{ $or: [{ a: 1 }, { $and: [{ a: { $ne: 2 } }, { a: { $exists: true } }] }] }, scalars, "+-++-+"],
  [{ a: { $not: { $gt: 1 } } }, scalars, "+-++++"],
  [{ missing: 1 }, scalars, "------"],
  [{ missing: null }, scalars, "++++++"],
  [{ missing: { $ne: null } }, scalars, "------"],
  [{}, scalars, "++++++"],
])("of scalars: %j", (filter, rows, expected) => {
  expect(outcome(filter, rows)).toBe(expected);
});

test.each<[unknown, string]>([
  [{ a: 1 }, "+----+-"],
  [{ a: { $ne: 1 } }, "-++++-+"],
  [{ a: { $exists: true } }, "++++++-"],
  [{ a: { $exists: false } }, "------+"],
  [{ a: null }, "------+"],
  [{ a: { $gt: 1 } }, "+------"],
  [{ a: { b: 1 } }, "?????--"],
  [{ a: [1, 2] }, "?????--"],
  [{ "a.b": 1 }, "--++---"],
  [{ "a.b": null }, "??-??++"],
  [{ "a.b": { $exists: false } }, "++--+++"],
  [{ "a.0": 1 }, "??-??--"],
])("of arrays and objects: %j", (filter, expected) => {
  expect(outcome(filter, structures)).toBe(expected);
});

test.each<[unknown, string]>([
  [{ a: long }, "+-----"],
  [{ a: `${long}y` }, "-??-?-"],
  [{ a: { $ne: `${long}y` } }, "+??+?+"],
  [{ a: { $in: [`${long}y`, "y"] } }, "-??++-"],
  [{ a: { $gt: long } }, "-++++-"],
  [{ a: { $lt: "y" } }, "+++-+-"],
  [{ a: "y" }, "---++-"],
  [{ a: { $contains: "y" } }, "-??++-"],
  [{ a: { $contains: "xy" } }, "-??-?-"],
])("of long texts: %j", (filter, expected) => {
  expect(outcome(filter, texts)).toBe(expected);
});

test("a row whose paths are too many for columns is open for paths that have none", () => {
  const wide = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, i]));
  expect(outcome({ k599: 599 }, [wide, {}, {}])).toBe("?--");
  expect(outcome({ k599: { $ne: 599 } }, [wide, {}, {}])).toBe("?++");
  expect(outcome({ k599: null }, [wide, {}, {}])).toBe("?++");
});

test("a text inside of another is found in texts alone, an equal one in arrays too", () => {
  const rows = [{ a: "xyz" }, { a: "y" }, { a: ["xyz"] }, { a: ["y"] }, { a: "z" }, { a: { y: 1 } }];
  expect(outcome({ a: { $contains: "y" } }, rows)).toBe("++?+--");
  expect(outcome({ a: { $contains: "xyz" } }, rows)).toBe("+-+---");
});

test("an array on the way that no column tells of leaves a row open", () => {
  const rows = [{ a: [{ b: 1 }, { c: 2 }] }, { a: [{ c: 2 }] }, { a: { c: 1 } }, { b: [[1]] }];
  expect(outcome({ "a.b": null }, rows)).toBe("??++");
  expect(outcome({ "b.0.0": 1 }, rows)).toBe("---?");
  expect(outcome({ "d.0": null }, rows)).toBe("++++");
});

test("a filter needs the columns of its paths, of their beginnings, and the one without a path", () => {
  const { root } = compileFilter({ "a.b.c": 1, $or: [{ d: 1 }, { $and: [{ "e.f": 1 }, { d: 2 }] }] });
  expect([...pathsOf(root)].sort()).toEqual(["a", "a.b", "a.b.c", "d", "e", "e.f", null]);
  // Twice the same, from what is remembered of each condition.
  expect(pathsOf(root)).toEqual(pathsOf(root));
  expect([...pathsOf(compileFilter({}).root)]).toEqual([null]);
});

test("evaluation pauses after each condition", () => {
  const { root } = compileFilter({ a: 1, b: 2, $or: [{ c: 1 }, { d: 1 }] });
  const work = evaluateColumns(root, columnsOf([{ a: 1 }]), 1);
  let pauses = 0;
  while (!work.next().done) pauses++;
  expect(pauses).toBe(4);
});
