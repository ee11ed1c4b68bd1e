/** Yielding: who continues in which turn of the event loop, by a clock that only these tests move. */

import { expect, test } from "vitest";
import { forEachYielding, onBehalfOf, yieldIfDue, yieldToEventLoop } from "../../src/async/event-loop.js";
import { pass, turnsDuring } from "./turns.js";

test("of many at once, one continues in each turn of the event loop", async () => {
  const woken: number[] = [];
  const turns = await turnsDuring(() =>
    Promise.all(Array.from({ length: 20 }, (_, i) => yieldToEventLoop().then(() => woken.push(i)))),
  );
  expect(turns).toBe(20);
  expect(woken).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

test("a loop visits everything in order, whoever loops next to it", async () => {
  const lengths = [0, 1, 63, 64, 65, 1000];
  let visited: number[][] = [];
  const loop = async (n: number) => {
    const seen: number[] = [];
    await forEachYielding(n, (i) => seen.push(i));
    return seen;
  };
  const turns = await turnsDuring(async () => {
    visited = await Promise.all(lengths.map(loop));
  }, 8);
  expect(visited).toEqual(lengths.map((n) => Array.from({ length: n }, (_, i) => i)));
  // Each look at the clock is a pause: one per 64 visits.
  expect(turns).toBe(1 + 1 + 15);
});

test("loops that run one after another share a turn, though none is long by itself", async () => {
  const turns = await turnsDuring(async () => {
    await yieldToEventLoop();
    // 5 ms each, so that every second one is the first to look at the clock after 8 ms.
    for (let loop = 0; loop < 12; loop++) await forEachYielding(64, (i) => pass(i === 0 ? 5 : 0));
  });
  expect(turns).toBe(1 + 6);
});

test("nothing yields before it is due", async () => {
  const turns = await turnsDuring(async () => {
    await yieldToEventLoop();
    for (let look = 0; look < 1000; look++) await yieldIfDue();
    pass(7);
    await yieldIfDue();
    pass(1);
    await yieldIfDue();
    await yieldIfDue();
  });
  expect(turns).toBe(2);
});

test("owners take turns, however many of one wait", async () => {
  const woken: string[] = [];
  const wait = (owner: string, i: number) =>
    onBehalfOf(owner, async () => {
      for (let turn = 0; turn < 2; turn++) {
        await yieldToEventLoop();
        woken.push(`${owner}${i}`);
      }
    });
  await turnsDuring(() =>
    Promise.all([...Array.from({ length: 6 }, (_, i) => wait("a", i)), wait("b", 0), wait("c", 0)]),
  );
  expect(woken.slice(0, 6)).toEqual(["a0", "b0", "c0", "a1", "b0", "c0"]);
  expect(woken.slice(6)).toEqual(["a2", "a3", "a4", "a5", "a0", "a1", "a2", "a3", "a4", "a5"]);
});
