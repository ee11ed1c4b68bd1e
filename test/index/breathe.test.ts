import { describe, expect, test } from "vitest";
import { yieldToEventLoop, forEachYielding } from "../../src/threads/yield-to-event-loop.js";

/** Counts turns of the event loop until `done`. */
function countTurns() {
  const counted = { turns: 0, done: false };
  const turn = () => {
    counted.turns++;
    if (!counted.done) setImmediate(turn);
  };
  setImmediate(turn);
  return counted;
}

describe("breathing", () => {
  test("of many at once, one goes on in each turn of the event loop", async () => {
    const counted = countTurns();
    const wokenIn = await Promise.all(
      Array.from({ length: 20 }, async () => {
        await yieldToEventLoop();
        return counted.turns;
      }),
    );
    counted.done = true;
    expect(new Set(wokenIn).size).toBe(20);
  });

  test("a loop visits everything in order, whoever loops beside it", async () => {
    const lengths = [0, 1, 63, 64, 65, 1000];
    const visited = await Promise.all(
      lengths.map(async (n) => {
        const seen: number[] = [];
        await forEachYielding(n, (i) => seen.push(i));
        return seen;
      }),
    );
    expect(visited).toEqual(lengths.map((n) => Array.from({ length: n }, (_, i) => i)));
  });

  test("loops that run one after another share a turn, though none is long by itself", async () => {
    const counted = countTurns();
    const busy = () => {
      const until = performance.now() + 0.1;
      while (performance.now() < until);
    };
    for (let loop = 0; loop < 12; loop++) await forEachYielding(64, busy);
    counted.done = true;
    expect(counted.turns).toBeGreaterThanOrEqual(5);
  });
});
