/** Which segments can shadow rows of others, and small parts that searches are put together of. */

import { expect, test } from "vitest";
import { seededRandom } from "../../src/engine/random.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import { filterDigest } from "../../src/query/row-filter.js";
import { Shadowing } from "../../src/query/snapshot/snapshot.js";

interface Ref {
  readonly ref: { readonly sequence: number; readonly namespace?: string };
}

function segment(sequence: number, namespace?: string): Ref {
  return { ref: { sequence, ...(namespace && { namespace }) } };
}

test("segments shadow older ones of their namespace alone, in any histories", () => {
  const random = seededRandom(5);
  for (let round = 0; round < 200; round++) {
    const groups = Array.from({ length: 1 + Math.floor(4 * random()) }, (_, i) => {
      const namespace = i === 0 ? undefined : `n${i}`;
      const sequences = Array.from({ length: 1 + Math.floor(5 * random()) }, () => Math.floor(8 * random()));
      return sequences.sort((a, b) => a - b).map((sequence) => segment(sequence, namespace));
    });
    const all = groups.flat();
    const shadowing = new Shadowing(groups);
    const sequences = shadowing.newest.map(({ ref }) => ref.sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => b - a));
    const canShadow = (a: Ref, b: Ref) =>
      a.ref.namespace === b.ref.namespace && a.ref.sequence > b.ref.sequence;
    expect(new Set(shadowing.newest)).toEqual(new Set(all.filter((a) => all.some((b) => canShadow(a, b)))));
    for (const each of all) {
      const positions = [...shadowing.newest.keys()].filter((i) => canShadow(shadowing.newest[i], each));
      expect(shadowing.neededFor(each)).toBe(positions.length === 0 ? 0 : Math.max(...positions) + 1);
    }
    expect(shadowing.neededFor(segment(0, "unknown"))).toBe(0);
  }
  expect(new Shadowing([]).newest).toEqual([]);
});

test("filters have digests of their own, which are short and do not change", () => {
  const digestOf = (value: string) => filterDigest(compileFilter({ a: value }));
  const short = compileFilter({ a: "x" });
  expect(filterDigest(short)).toBe(short.text);
  const digests = Array.from({ length: 120 }, (_, n) => digestOf("x".repeat(n)));
  expect(new Set(digests).size).toBe(120);
  expect(digests.every((digest) => digest.length <= 64)).toBe(true);
  expect(digestOf("x".repeat(119))).toBe(digests[119]);
  expect(digests[119]).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  // A text of 64 units is its own digest, one of 65 is not.
  const overhead = compileFilter({ a: "" }).text.length;
  const own = compileFilter({ a: "y".repeat(64 - overhead) });
  expect(own.text.length).toBe(64);
  expect(filterDigest(own)).toBe(own.text);
  const longer = compileFilter({ a: "y".repeat(65 - overhead) });
  expect(filterDigest(longer)).not.toBe(longer.text);
  expect(filterDigest(longer)).toBe(filterDigest(longer));
});
