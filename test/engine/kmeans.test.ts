import { expect, test } from "vitest";
import { callKernel } from "../../src/engine/kernels/kernels.js";
import { allocate, allocatedBytes, floatsAt, free } from "../../src/engine/kernels/memory.js";
import { kmeans } from "../../src/engine/lists/kmeans.js";
import { seededRandom } from "../../src/engine/random.js";
import { exchangeRows, exchangesFor } from "../../src/engine/rows.js";
import { clustered } from "./data.js";
import { finish } from "./finish.js";

test("k-means on two levels takes no copy of its rows, and leaves them in their order", () => {
  const [n, dimension, k] = [4000, 16, 100];
  const points = clustered(n, dimension, 30, 1);
  const at = allocate(points.byteLength);
  floatsAt(at, points.length).set(points);
  const before = allocatedBytes();
  let most = before;
  const work = kmeans({ at, n, dimension, areDirections: false }, k, seededRandom(1));
  let step = work.next();
  while (!step.done) {
    most = Math.max(most, allocatedBytes());
    for (const call of step.value ?? []) callKernel(call);
    step = work.next();
  }
  const after = floatsAt(at, points.length).slice();
  free(at);
  expect(step.value.lists).toHaveLength(n);
  expect(most - before).toBeLessThan(points.byteLength / 2);
  expect(after).toEqual(points);
});

test("exchanged rows are in the order that was asked for, and exchanged back in the one before", () => {
  const dimension = 3;
  for (const n of [1, 2, 7, 100]) {
    const random = seededRandom(n);
    const same = Uint32Array.from({ length: n }, (_, row) => row);
    const keys = Float64Array.from(same, () => random());
    const orders = [same, same.toReversed(), same.toSorted((a, b) => keys[a] - keys[b])];
    for (const order of orders) {
      const rows = Float32Array.from({ length: n * dimension }, () => random());
      const expected = Array.from(order, (row) => rows.subarray(row * dimension, (row + 1) * dimension));
      const moved = rows.slice();
      const exchanges = exchangesFor(order);
      finish(exchangeRows(moved, dimension, exchanges, "there"));
      expect(Array.from(moved)).toEqual(expected.flatMap((row) => Array.from(row)));
      finish(exchangeRows(moved, dimension, exchanges, "back"));
      expect(moved).toEqual(rows);
    }
  }
});
