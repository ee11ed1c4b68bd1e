/**
 * Thousands of simulated histories, one a seed. `SEALDEX_SEED=7 npm run test:long -- simulate` replays one;
 * `SEALDEX_SEEDS=100000 npm run test:long -- simulate` runs more than CI does.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { repeats } from "../tier.js";
import { simulate } from "./simulation.js";
import { useFakeTime, useRealTime } from "../fake-time.js";

const seeds = repeats("SEALDEX_SEEDS", { fast: 40, all: 300 });
const only = process.env.SEALDEX_SEED;

// How long work holds the event loop decides where it yields: the library's clock stands, so that a seed is one history.
beforeAll(() => useFakeTime(["performance"]));
afterAll(() => useRealTime());

test("many processes over a store that fails, stalls and forgets do nothing that one would not", async () => {
  const first = only === undefined ? 1 : Number(only);
  const last = only === undefined ? seeds : first;
  let calls = 0;
  let failed = 0;
  for (let seed = first; seed <= last; seed++) {
    try {
      const report = await simulate(seed);
      calls += report.calls;
      failed += report.failed;
    } catch (cause) {
      throw new Error(
        `seed ${seed} failed; replay it with SEALDEX_SEED=${seed} npm run test:long -- simulate`,
        {
          cause,
        },
      );
    }
  }
  process.stdout.write(
    `${last - first + 1} seeds, ${calls} calls, ${failed} of them cut short: all linearizable\n`,
  );
  if (only === undefined) expect(failed).toBeGreaterThan(0);
}, 3_600_000);

test("a seed gives the same history twice", async () => {
  for (const seed of [3, 4, 5]) {
    const { digest } = await simulate(seed);
    expect((await simulate(seed)).digest).toBe(digest);
  }
});
