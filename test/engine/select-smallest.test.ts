/** Selection of the smallest of many values, against sorting. */

import { expect, test } from "vitest";
import { seededRandom } from "../../src/engine/random.js";
import { nearestPositions, positionsOfSmallest } from "../../src/engine/select-smallest.js";

test("the smallest finite values are found, of equal ones the first", () => {
  const random = seededRandom(1);
  for (let round = 0; round < 500; round++) {
    const kinds = [0, 1, 2, 3, Infinity, NaN];
    const n = Math.floor(40 * random());
    const values = Float32Array.from({ length: n }, () => kinds[Math.floor(kinds.length * random())]);
    const finite = Array.from(values.keys()).filter((i) => values[i] < Infinity);
    const sorted = finite.sort((a, b) => values[a] - values[b] || a - b);
    for (const count of [1, 2, 5, 40, 100]) {
      const expected = sorted.slice(0, count);
      expect(Array.from(nearestPositions(values, 1, count))).toEqual(expected);
      expect(positionsOfSmallest(values, count)).toEqual(expected.toSorted((a, b) => a - b));
    }
  }
});
