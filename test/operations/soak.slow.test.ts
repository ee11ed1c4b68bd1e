/** Small writes and reads without end: a process holds no more memory after many than after few. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { repeats } from "../tier.js";

const script = fileURLToPath(new URL("soak-process.mjs", import.meta.url));
/** Until then, code is compiled and first versions of everything are opened. */
const warmUp = 200;
const pairs = repeats("SEALDEX_SOAK", { fast: 500, all: 2000 });
const growthMax = 10_000_000;

interface Report {
  readonly pairs: number;
  readonly bytes: number;
  readonly cacheBytes: number;
}

test(`${pairs} pairs of a write and a read leave less than 10 MB in memory`, { timeout: 0 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--expose-gc",
    script,
    `${warmUp}`,
    `${pairs}`,
  ]);
  const [before, after] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Report);
  expect(after.pairs - before.pairs).toBe(pairs);
  expect(after.bytes - before.bytes).toBeLessThan(growthMax);
  // What the newest version does not name is not cached: the index itself is far smaller than this.
  expect(after.cacheBytes).toBeLessThan(1_000_000);
});
