/** Filters have the meaning of MongoDB: mingo is the oracle, and where it differs, the rules of the server. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SealdexError } from "../src/errors.js";
import { compileFilter, type Filter, matchesEverything } from "../src/api/filter/compile.js";
import { agrees, conditionsOf, oracle } from "./mingo.js";

type Metadata = Record<string, unknown>;

function matches(filter: Filter, metadata: Metadata): boolean {
  return compileFilter(filter).matches(metadata);
}

function rejection(filter: unknown): string {
  try {
    compileFilter(filter);
  } catch (error) {
    expect(error).toBeInstanceOf(SealdexError);
    expect((error as SealdexError).code).toBe("invalid_request");
    return (error as SealdexError).message;
  }
  return "accepted";
}

describe("compared with mingo", () => {
  const scalar = fc.constantFrom<unknown>(null, 1, 1, 2, "x", true);
  const bound = fc.constantFrom<unknown>(0, 1, 2, "w", "x", true);
  // Keys always in one order: mingo ignores the order of keys.
  const objectOf = (values: fc.Arbitrary<unknown>) =>
    fc.record({ a: values, b: values }, { requiredKeys: [] }).map((object) => ({ ...object }));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      { weight: 3, arbitrary: scalar },
      { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
      { weight: 1, arbitrary: fc.array(objectOf(scalar), { maxLength: 3 }) },
      { weight: 2, arbitrary: objectOf(tie("value")) },
    ),
  }));
  const document = fc.record({ a: value, b: value });
  const path = fc.constantFrom("a", "b", "a.a", "a.b", "b.a", "a.b.a", "a.0", "a.1", "b.0.a", "a.b.1");
  const operand = fc.oneof({ weight: 6, arbitrary: scalar }, { weight: 1, arbitrary: value });
  const operandOf = (name: string): fc.Arbitrary<unknown> => {
    if (name === "$exists") return fc.boolean();
    if (name === "$in" || name === "$nin") return fc.array(operand, { maxLength: 4 });
    return name === "$eq" || name === "$ne" ? operand : fc.oneof({ weight: 9, arbitrary: bound }, operand);
  };
  const operator = fc.constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists");
  const operators = fc
    .uniqueArray(operator, { minLength: 1, maxLength: 2 })
    .chain((names) =>
      fc.tuple(...names.map((name) => operandOf(name).map((given) => [name, given] as const))),
    )
    .map((entries) => Object.fromEntries(entries));
  const condition = fc.oneof(
    { weight: 1, arbitrary: operand },
    { weight: 4, arbitrary: operators },
    { weight: 1, arbitrary: operators.map((negated) => ({ $not: negated })) },
  );
  const { tree } = fc.letrec<{ tree: Metadata }>((tie) => {
    const trees = fc.array(tie("tree"), { minLength: 1, maxLength: 3 });
    return {
      tree: fc.oneof(
        { maxDepth: 2 },
        { weight: 2, arbitrary: fc.dictionary(path, condition, { minKeys: 1, maxKeys: 2 }) },
        { weight: 1, arbitrary: fc.record({ $or: trees, a: condition }, { requiredKeys: ["$or"] }) },
        { weight: 1, arbitrary: fc.record({ $and: trees, $or: trees }, { requiredKeys: ["$or"] }) },
        { weight: 1, arbitrary: fc.record({ $nor: trees, $not: tie("tree") }, { requiredKeys: ["$nor"] }) },
        { weight: 1, arbitrary: fc.record({ $not: tie("tree"), a: condition }, { requiredKeys: ["$not"] }) },
      ),
    };
  });
  const documents = fc.array(document, { minLength: 8, maxLength: 8 });

  test("thousands of random filters give the same answers", () => {
    let matching = 0;
    let others = 0;
    const property = fc.property(tree, documents, (filter, metadatas) => {
      const compiled = compileFilter(filter).matches;
      const conditions = conditionsOf(filter);
      for (const metadata of metadatas) {
        if (!conditions.every((one) => agrees(metadata, one))) continue;
        const expected = oracle(filter, metadata);
        expect(compiled(metadata)).toBe(expected);
        if (expected) matching++;
        else others++;
      }
    });
    fc.assert(property, { numRuns: 4000 });
    expect(matching).toBeGreaterThan(1000);
    expect(others).toBeGreaterThan(1000);
  });

  // Everything that `agrees` leaves out. Each line fails once mingo does as the server does.
  test.each<[string, Metadata, Filter, boolean]>([
    ["the order of keys counts in equality", { a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } }, false],
    ["$gte null matches a missing field", {}, { a: { $gte: null } }, true],
    ["$lte null matches a missing field", {}, { a: { $lte: null } }, true],
    ["$lte null matches null", { a: { b: null } }, { "a.b": { $lte: null }, c: { $gte: null } }, true],
    ["arrays are ordered element by element, unsorted", { a: [2, 1] }, { a: { $gt: [1, 3] } }, true],
    ["an array is compared as a whole too", { a: [] }, { a: { $gte: [] } }, true],
    ["objects are ordered entry by entry", { a: { x: 2, y: 0 } }, { a: { $gt: { x: 1, z: 0 } } }, true],
    ["$in holds whole arrays", { a: [1, 2] }, { a: { $in: [[1, 2]] } }, true],
    ["$nin holds whole arrays", { a: [1, 2] }, { a: { $nin: [[1, 2]] } }, false],
    ["one element without the field matches null", { a: [{ b: 1 }, {}] }, { "a.b": null }, true],
    ["values of several elements are no array", { a: [{ b: 1 }, { b: 2 }] }, { "a.b": [1, 2] }, false],
    ["an empty array reaches nothing", { a: [] }, { "a.b": [] }, false],
    [
      "arrays at the end of each path are opened",
      { a: [{ b: [1] }, { b: [5] }] },
      { "a.b": { $gt: 4 } },
      true,
    ],
    [
      "two arrays on a path are entered",
      { a: [{ b: [{ c: 2 }] }, { b: [] }] },
      { "a.b.c": { $gt: 1 } },
      true,
    ],
    ["arrays within arrays are not entered by key", { a: [[1]] }, { "a.b": 1 }, false],
    ["nor at the end of a path", { a: { b: [[1]] } }, { "a.b": 1 }, false],
    ["an element at a position is not opened", { a: [[1, 2]] }, { "a.0": 1 }, false],
    ["an empty array has no field with a position", { a: [] }, { "a.b.1": { $exists: true } }, false],
    ["a position past the end is not missing", { a: [] }, { "a.0": null }, false],
    ["a number is also a key of the elements", { a: [{ 0: "x" }] }, { "a.0": "x" }, true],
    ["only canonical numbers are positions", { a: [1] }, { "a.00": 1 }, false],
  ])("unlike mingo: %s", (_, metadata, filter, expected) => {
    expect(matches(filter, metadata)).toBe(expected);
    expect(oracle(filter, metadata)).toBe(!expected);
  });
});

describe("values", () => {
  test.each<[string, Filter, Metadata[], Metadata[]]>([
    ["{} matches everything", {}, [{}, { a: 1 }, { a: null }], []],
    [
      "null matches null and missing",
      { a: null },
      [{}, { a: null }, { a: [1, null] }],
      [{ a: 0 }, { a: "" }, { a: [] }],
    ],
    [
      "$ne null is present and not null",
      { a: { $ne: null } },
      [{ a: 0 }, { a: [] }],
      [{}, { a: null }, { a: [null] }],
    ],
    ["$ne matches missing", { a: { $ne: 1 } }, [{}, { a: 2 }, { a: [2] }], [{ a: 1 }, { a: [2, 1] }]],
    ["$in with null matches missing", { a: { $in: [null, 1] } }, [{}, { a: null }, { a: 1 }], [{ a: 2 }]],
    ["$nin with null needs the field", { a: { $nin: [null, 1] } }, [{ a: 2 }], [{}, { a: null }, { a: 1 }]],
    ["$in of nothing matches nothing", { a: { $in: [] } }, [], [{}, { a: null }, { a: [] }]],
    ["$nin of nothing matches everything", { a: { $nin: [] } }, [{}, { a: 1 }], []],
    [
      "$exists sees null and empty",
      { a: { $exists: true } },
      [{ a: null }, { a: [] }, { a: {} }, { a: "" }],
      [{}, { b: 1 }],
    ],
    [
      "$exists: false is missing",
      { a: { $exists: false } },
      [{}, { b: 1 }],
      [{ a: null }, { a: [] }, { a: 0 }],
    ],
    [
      "$exists of a path asks for one element that has it",
      { "a.b": { $exists: true } },
      [{ a: { b: null } }, { a: [{}, { b: [] }] }, { a: [{ b: 1 }] }],
      [{}, { a: 1 }, { a: {} }, { a: [] }, { a: [4] }, { a: [[{ b: 1 }]] }],
    ],
    [
      "$exists of a position",
      { "a.1": { $exists: true } },
      [{ a: [1, null] }, { a: { 1: 0 } }],
      [{ a: [1] }, { a: "xy" }],
    ],
    ["types differ", { a: 1 }, [{ a: 1 }], [{ a: "1" }, { a: true }, { a: { 0: 1 } }]],
    ["false is not null", { a: false }, [{ a: false }], [{}, { a: null }, { a: 0 }]],
    ["minus zero is zero", { a: -0 }, [{ a: 0 }, { a: -0 }], []],
    [
      "an array as a whole or an element",
      { a: [1, 2] },
      [{ a: [1, 2] }, { a: [0, [1, 2]] }],
      [{ a: [2, 1] }, { a: [1, 2, 3] }],
    ],
    ["the empty object", { a: {} }, [{ a: {} }, { a: [{}] }], [{}, { a: { b: 1 } }, { a: [] }]],
    [
      "an object is compared whole",
      { a: { b: 1 } },
      [{ a: { b: 1 } }],
      [{ a: { b: 1, c: 2 } }, { a: { b: [1] } }],
    ],
    ["an object with operator keys", { a: { $eq: { $gt: 1 } } }, [{ a: { $gt: 1 } }], [{ a: 2 }]],
    [
      "ranges see numbers only among numbers",
      { a: { $gt: 5 } },
      [{ a: 6 }, { a: [1, 6] }],
      [{ a: "6" }, { a: true }, { a: null }, {}],
    ],
    [
      "ranges of strings",
      { a: { $gte: "b", $lt: "c" } },
      [{ a: "b" }, { a: "bz" }],
      [{ a: "B" }, { a: "c" }, { a: 1 }],
    ],
    ["false is less than true", { a: { $lt: true } }, [{ a: false }], [{ a: true }, { a: 0 }, {}]],
    [
      "operators on an array may be met by different elements",
      { a: { $gt: 1, $lt: 1 } },
      [{ a: [0, 2] }],
      [{ a: [1] }],
    ],
    ["$gt null matches nothing", { a: { $gt: null } }, [], [{}, { a: null }, { a: 1 }]],
    [
      "shorter arrays come first",
      { a: { $lt: [1, 2] } },
      [{ a: [1] }, { a: [0, 9] }, { a: [null] }],
      [{ a: [1, 2] }, { a: ["x"] }],
    ],
    [
      "objects: type before key before value",
      { a: { $gt: { k: 1 } } },
      [{ a: { k: 2 } }, { a: { b: "s" } }, { a: { k: 1, l: 0 } }],
      [{ a: {} }, { a: { j: 5 } }, { a: { z: null } }],
    ],
  ])("%s", (_, filter, matching, others) => {
    for (const metadata of matching) expect(matches(filter, metadata), JSON.stringify(metadata)).toBe(true);
    for (const metadata of others) expect(matches(filter, metadata), JSON.stringify(metadata)).toBe(false);
  });

  test("strings are ordered as their UTF-8 bytes are", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "é", "\u{ffee}", "\u{1f600}", "\u{10ffff}"),
      maxLength: 4,
    });
    const property = fc.property(text, text, (a, b) => {
      const order = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect(matches({ t: { $lt: b } }, { t: a })).toBe(order < 0);
      expect(matches({ t: { $gte: b } }, { t: a })).toBe(order >= 0);
    });
    fc.assert(property, { numRuns: 2000 });
    expect(matches({ t: { $gt: "\u{ffee}" } }, { t: "\u{1f600}" })).toBe(true);
  });

  test("objects are less, equal or greater, and never two of these", () => {
    const object = fc.dictionary(
      fc.constantFrom("a", "b"),
      fc.constantFrom<unknown>(null, 1, 2, "x", true, [], {}),
    );
    const property = fc.property(object, object, (a, b) => {
      const holds = (["$lt", "$eq", "$gt"] as const).filter((operator) =>
        compileFilter({ o: { [operator]: b } }).matches({ o: a }),
      );
      expect(holds).toHaveLength(1);
      const inverse = { $lt: "$gt", $eq: "$eq", $gt: "$lt" }[holds[0]];
      expect(compileFilter({ o: { [inverse]: a } }).matches({ o: b })).toBe(true);
    });
    fc.assert(property, { numRuns: 1000 });
  });
});

describe("paths", () => {
  // From the tests of the server's path iterator.
  test.each<[Metadata, string, unknown[], unknown[]]>([
    [{ a: { b: { c: 1 } } }, "a.b.c", [1], [null]],
    [{ a: 4 }, "a.b", [null], [4]],
    [{ a: [4] }, "a.b", [], [null, 4]],
    [{ a: { b: [] } }, "a.b", [[]], [null]],
    [{ a: [{ b: 5 }, 3, {}, { b: [9, 11] }, { b: 7 }] }, "a.b", [5, null, 9, 11, [9, 11], 7], [3]],
    [{ a: [5, 7, 3] }, "a.1", [7], [5, null]],
    [{ a: [5, [2, 4], 3] }, "a.1", [[2, 4]], [2, 4, null]],
    [{ a: [5, { 1: 4 }, 3] }, "a.1", [4, { 1: 4 }], [5, null]],
    [{ a: [5, { b: 4 }, 3] }, "a.1.b", [4, null], [5]],
    [{ a: [5, [{ b: 4 }], 3] }, "a.1.b", [4], [null, 5]],
    [{ a: [{ b: [2, 3] }, { b: [4, 5] }] }, "a.0.b", [null, 2, 3, [2, 3]], [4]],
    [{ a: [{ b: [] }, { b: [] }] }, "a.b.x", [], [null]],
    [{ a: { 0: "k" } }, "a.0", ["k"], [null]],
    [{ "": { "": 1 } }, ".", [1], [null]],
  ])("in %j, %s reaches the same as in the server", (metadata, path, reached, unreached) => {
    for (const value of reached) expect(compileFilter({ [path]: value }).matches(metadata)).toBe(true);
    for (const value of unreached) expect(compileFilter({ [path]: value }).matches(metadata)).toBe(false);
  });

  test("names of Object's own machinery are ordinary keys", () => {
    for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const metadata = JSON.parse(`{"${key}":{"b":1}}`) as Metadata;
      const wholly = JSON.parse(`{"${key}":{"b":1}}`) as Filter;
      expect(matches(wholly, metadata)).toBe(true);
      expect(matches({ [`${key}.b`]: 1 }, metadata)).toBe(true);
      expect(matches(wholly, {})).toBe(false);
      expect(matches(JSON.parse(`{"${key}":null}`) as Filter, {})).toBe(true);
      expect(matches({ [`a.${key}`]: null }, { a: {} })).toBe(true);
      expect(matches({ [`a.${key}`]: null }, { a: [] })).toBe(false);
    }
    expect(matches({ "a.length": 2 }, { a: [1, 2] })).toBe(false);
    expect(matches({ a: JSON.parse('{"__proto__":1}') as Metadata } as Filter, { a: {} })).toBe(false);
  });
});

describe("several conditions", () => {
  test("keys, operators and $and are all required; $or asks for one", () => {
    const filter: Filter = {
      year: { $gte: 2000, $lte: 2010 },
      "author.name": "Ann",
      $or: [{ lang: "en" }, { $and: [{ lang: "fr" }, { tags: { $in: ["x"] } }] }],
    };
    const ann = { author: { name: "Ann" } };
    expect(matches(filter, { ...ann, year: 2005, lang: "en" })).toBe(true);
    expect(matches(filter, { ...ann, year: 2010, lang: "fr", tags: ["w", "x"] })).toBe(true);
    expect(matches(filter, { ...ann, year: 2005, lang: "fr" })).toBe(false);
    expect(matches(filter, { ...ann, year: 2011, lang: "en" })).toBe(false);
    expect(matches(filter, { author: { name: "Bob" }, year: 2005, lang: "en" })).toBe(false);
  });

  test("$nor asks for none, $not for the opposite, of a field or of filters", () => {
    const filter: Filter = {
      $nor: [{ lang: "en" }, { lang: "fr" }],
      $not: { year: { $gte: 2000 }, kind: "book" },
      pages: { $not: { $gt: 100 } },
    };
    expect(matches(filter, { lang: "de", year: 1999, kind: "book", pages: 5 })).toBe(true);
    expect(matches(filter, { lang: "de", year: 2001, kind: "film" })).toBe(true);
    expect(matches(filter, { lang: "de", year: 2001, kind: "book" })).toBe(false);
    expect(matches(filter, { lang: "fr" })).toBe(false);
    expect(matches(filter, { lang: "de", pages: 101 })).toBe(false);
    expect(matches({ $not: { $not: { a: 1 } } }, { a: 1 })).toBe(true);
  });

  test("no filters are all met, or one of them is, or none of them is", () => {
    const all: Filter[] = [
      { $and: [] },
      { $nor: [] },
      { $not: { $or: [] } },
      { $nor: [{ $or: [] }, { $not: {} }] },
    ];
    const none: Filter[] = [{ $or: [] }, { $nor: [{}] }, { $not: {} }, { $not: { $nor: [] } }];
    for (const filter of [...all, ...none]) {
      const { root } = compileFilter(filter);
      expect(matches(filter, { a: 1 }), JSON.stringify(filter)).toBe(all.includes(filter));
      // A filter that would delete everything is refused as such.
      expect(matchesEverything(root), JSON.stringify(filter)).toBe(all.includes(filter));
    }
  });

  test.each<[Metadata, Filter, boolean]>([
    [{ a: "a long text" }, { a: { $contains: "long" } }, true],
    [{ a: "a long text" }, { a: { $contains: "" } }, true],
    [{ a: "a long text" }, { a: { $contains: "Long" } }, false],
    [{ a: "a.b" }, { a: { $contains: "a.?" } }, false],
    [{ a: ["long", "text"] }, { a: { $contains: "text" } }, true],
    [{ a: ["long", "text"] }, { a: { $contains: "tex" } }, false],
    [{ a: ["long", "text"] }, { a: { $contains: "" } }, false],
    [{ a: ["long", "text"] }, { "a.0": { $contains: "lon" } }, true],
    [{ a: [["text"]] }, { a: { $contains: "text" } }, false],
    [{ a: [{ b: "long" }, { b: 5 }] }, { "a.b": { $contains: "on" } }, true],
    [{ a: [{ b: ["long"] }, { b: 5 }] }, { "a.b": { $contains: "on" } }, false],
    [{ a: [1, 2] }, { a: { $contains: 2 } }, true],
    [{ a: 12 }, { a: { $contains: 2 } }, false],
    [{ a: 12 }, { a: { $contains: "2" } }, false],
    [{ a: [false] }, { a: { $contains: false } }, true],
    [{ a: { long: 1 } }, { a: { $contains: "long" } }, false],
    [{}, { a: { $contains: "x" } }, false],
    [{}, { a: { $not: { $contains: "x" } } }, true],
    [{ a: "x" }, { a: { $not: { $contains: "x" } } }, false],
  ])("%j contains %j: %s", (metadata, filter, expected) => {
    expect(matches(filter, metadata)).toBe(expected);
  });

  test("a compiled filter does not follow later changes of its source", () => {
    const list: string[] = ["x"];
    const bound = { n: 1 };
    const filter: Filter = { a: { $in: list }, b: { $gt: bound } };
    const compiled = compileFilter(filter).matches;
    list[0] = "y";
    bound.n = 9;
    expect(compiled({ a: "x", b: { n: 2 } })).toBe(true);
  });
});

function alternatives(n: number, part: unknown): unknown {
  return { $or: Array.from({ length: n }, () => part) };
}

describe("refusals", () => {
  test("the message names the place and the expected value", () => {
    expect(rejection({ $and: [{ a: 1 }, { year: { $size: 2 } }] })).toBe(
      "filter.$and[1].year.$size: unknown operator; " +
        "expected one of $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $contains, $not",
    );
    expect(rejection({ year: { $regex: "^2" } })).toBe(
      "filter.year.$regex: regular expressions are not supported; use $contains, or $gte and $lt for a prefix",
    );
    expect(rejection({ a: { $in: ["ok", { b: [undefined] }] } })).toBe(
      "filter.a.$in[1].b[0]: expected a JSON value, got undefined",
    );
    expect(rejection({ "two words": { $gt: new Date(0) } })).toBe(
      'filter["two words"].$gt: expected a JSON value, got a Date (give its toISOString(), or a number)',
    );
  });

  test.each<[string, unknown, RegExp]>([
    ["no object", "a", /^filter: expected an object, got string/],
    ["null", null, /^filter: expected an object, got null/],
    ["an array", [], /^filter: expected an object, got an empty array/],
    ["a Map", new Map(), /^filter: expected an object, got a Map/],
    ["an operator without a field", { $gt: 1 }, /^filter\.\$gt: unknown operator; expected \$and, \$or/],
    [
      "$not of a value",
      { a: { $not: 1 } },
      /^filter\.a\.\$not: expected an object with operators .* got number/,
    ],
    [
      "$not of $not",
      { a: { $not: { $not: { $gt: 1 } } } },
      /^filter\.a\.\$not: expected an object with operators/,
    ],
    ["an unknown operator in $not", { a: { $not: { $x: 1 } } }, /^filter\.a\.\$not\.\$x: unknown operator/],
    ["$not of a list", { $not: [{ a: 1 }] }, /^filter\.\$not: expected an object, got an array/],
    ["$nor of no array", { $nor: { a: 1 } }, /^filter\.\$nor: expected an array of filters, got object/],
    ["$contains of null", { a: { $contains: null } }, /^filter\.a\.\$contains: expected a text, .* got null/],
    ["$contains of a list", { a: { $contains: ["x"] } }, /^filter\.a\.\$contains: .* got an array/],
    [
      "a long $contains",
      { a: { $contains: "x".repeat(257) } },
      /\$contains: .* at most 256 characters, got 257$/,
    ],
    ["$and on a field", { a: { $and: [{}] } }, /^filter\.a\.\$and: unknown operator/],
    ["a bare $", { a: { $: 1 } }, /^filter\.a\.\$: unknown operator/],
    ["operators first, a plain key after", { a: { $gt: 1, b: 2 } }, /^filter\.a\.b: a plain key next to/],
    ["a plain key first, operators after", { a: { b: 2, $gt: 1 } }, /^filter\.a\.b: a plain key next to/],
    ["$and of no array", { $and: { a: 1 } }, /^filter\.\$and: expected an array .* got object/],
    ["$and of a scalar", { $and: [{}, 3] }, /^filter\.\$and\[1\]: expected an object, got number/],
    ["$in of no array", { a: { $in: "x" } }, /^filter\.a\.\$in: expected an array, got string/],
    ["operators in $in", { a: { $in: [1, { $gt: 1 }] } }, /^filter\.a\.\$in\[1\]: expected a value/],
    ["undefined", { a: undefined }, /^filter\.a: expected a JSON value, got undefined/],
    ["NaN", { a: { $lt: Number.NaN } }, /^filter\.a\.\$lt: expected a JSON value, got NaN/],
    ["Infinity in an object", { a: { b: -Infinity } }, /^filter\.a\.b: expected a JSON value, got -Infinity/],
    ["a bigint", { a: 1n }, /^filter\.a: expected a JSON value, got bigint/],
    ["a function", { a: () => true }, /^filter\.a: expected a JSON value, got function/],
    ["a regular expression", { a: /x/ }, /^filter\.a: expected a JSON value, got an instance/],
    ["$exists of no boolean", { a: { $exists: 1 } }, /^filter\.a\.\$exists: expected a boolean, got number/],
    ["a hole in an array", { a: [1, , 2] }, /^filter\.a\[1\]: expected a JSON value, got undefined/], // oxlint-disable-line no-sparse-arrays
  ])("%s", (_, filter, message) => {
    expect(rejection(filter)).toMatch(message);
  });

  test("values never enter a message", () => {
    for (const bad of [{ a: { $in: "secret" } }, { $or: "secret" }, "secret", { a: { $x: "secret" } }]) {
      expect(rejection(bad)).not.toContain("secret");
    }
  });

  test("filters are at most 10 deep", () => {
    const nested = (depth: number): unknown => (depth === 1 ? { a: 1 } : { $or: [nested(depth - 1)] });
    expect(rejection(nested(10))).toBe("accepted");
    expect(rejection(nested(11))).toMatch(/expected filters at most 10 deep/);
    expect(rejection(nested(5000))).toMatch(/expected filters at most 10 deep/);
  });

  test("filters hold at most 256 conditions", () => {
    expect(rejection(alternatives(255, { a: 1 }))).toBe("accepted");
    expect(rejection(alternatives(256, { a: 1 }))).toMatch(/^filter\.\$or\[255\]\.a: .* at most 256/);
    expect(rejection(alternatives(128, { a: { $gt: 1, $lt: 3 } }))).toMatch(/at most 256 conditions/);
    expect(rejection(alternatives(100_000, {}))).toMatch(/at most 256 conditions/);
  });

  test("lists hold at most 10,000 values", () => {
    const list = Array.from({ length: 10_000 }, (_, i) => i);
    expect(compileFilter({ a: { $in: list } }).matches({ a: 9999 })).toBe(true);
    expect(rejection({ a: { $nin: [...list, 1] } })).toBe(
      "filter.a.$nin: expected at most 10000 values, got 10001",
    );
  });

  test("values are at most 100,000 in all, and no more are looked at", () => {
    const lists = (n: number) => ({
      $or: Array.from({ length: n }, () => ({ a: { $in: Array(9999).fill("x") } })),
    });
    expect(rejection(lists(10))).toBe("accepted");
    expect(rejection(lists(11))).toMatch(/expected at most 100000 values in all$/);
    let seen = 0;
    const endless = new Proxy([], { get: (_, name) => (name === "length" ? 1e9 : (seen++, 0)) });
    expect(rejection({ a: { $eq: endless } })).toMatch(/expected at most 100000 values in all$/);
    expect(seen).toBeLessThanOrEqual(100_000);
  });

  test("texts of values have at most 2,097,152 characters in all", () => {
    const texts = (...lengths: number[]) => ({ a: { $in: lengths.map((length) => "x".repeat(length)) } });
    expect(rejection(texts(2 ** 20, 2 ** 20))).toBe("accepted");
    expect(rejection(texts(2 ** 20, 2 ** 20, 1))).toMatch(
      /expected at most 2097152 characters of texts in all$/,
    );
    expect(rejection({ ...texts(2 ** 20), b: ["x".repeat(2 ** 20)], c: "x" })).toMatch(/2097152 characters/);
  });

  test("paths have at most 100 parts and 65,536 characters in all", () => {
    const parts = (n: number) => ({ [Array(n).fill("a").join(".")]: 1 });
    expect(rejection(parts(100))).toBe("accepted");
    expect(rejection(parts(101))).toMatch(/expected a path of at most 100 parts$/);
    const long = "k".repeat(65_536);
    expect(rejection({ [long]: 1 })).toBe("accepted");
    expect(rejection({ [long]: 1, a: 1 })).toMatch(/expected at most 65536 characters of paths in all$/);
    expect(rejection({ [`${long}k`]: 1 })).toMatch(/expected at most 65536 characters/);
    expect(rejection({ [long]: 1 }).length).toBeLessThan(300);
  });

  test("values are at most 32 deep, so a cycle is an error", () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
    expect(rejection({ a: nested(32) })).toBe("accepted");
    expect(rejection({ a: nested(33) })).toMatch(/expected values at most 32 deep/);
    const cycle: Metadata = {};
    cycle.self = cycle;
    expect(rejection({ a: cycle })).toMatch(/expected values at most 32 deep/);
  });
});

test("values that the type refuses are refused at run time, too", () => {
  const wrong: Filter[] = [
    // @ts-expect-error: no such operator
    { title: { $regex: "x" } },
    // @ts-expect-error: no such operator, beside one that exists
    { title: { $gt: "a", $regex: "x" } },
    // @ts-expect-error: no such operator, deeper
    { $and: [{ title: { $size: 1 } }] },
    // @ts-expect-error: a boolean
    { title: { $exists: 1 } },
    // @ts-expect-error: operators and plain keys
    { title: { $gt: 1, text: "x" } },
    // @ts-expect-error: a list
    { title: { $in: "x" } },
    // @ts-expect-error: a list
    { $and: { title: "x" } },
    // @ts-expect-error: no JSON value
    { title: new Date() },
    // Compiles, since filters may be typed as an interface.
    { title: undefined },
  ];
  for (const filter of wrong) expect(rejection(filter)).not.toBe("accepted");
});

test("ordinary filters are easy to type", () => {
  type Author = { name: string; born: number | null };
  const author: Author = { name: "Ann", born: null };
  const names: readonly string[] = ["Ann", "Bob"];
  const field: string = "year";
  const given: Filter | undefined = { year: { $gte: 1999, ...(names.length > 1 && { $lt: 2005 }) } };
  const filters: Filter[] = [
    { author },
    { author: { $eq: author } },
    { "author.name": { $in: names } },
    { [field]: 2001 },
    { ...given, kind: "book" },
    { $and: [given, { tags: ["a", { deep: [null] }] }] },
  ];
  const book = { author, "author.name": "Ann", year: 2001, kind: "book", tags: ["a", { deep: [null] }] };
  for (const filter of filters) expect(matches(filter, book)).toBe(true);
});
