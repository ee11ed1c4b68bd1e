/** Benchmarks whose size can be set run to their end: nobody runs all of them after every change. They need a build. */

import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

async function run(args: readonly string[], variables: NodeJS.ProcessEnv): Promise<string> {
  const env = { ...process.env, ...variables };
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", ...args], {
    cwd: root,
    env,
  });
  return stdout;
}

test("a benchmark says which options it has", async () => {
  const help = await run(["scripts/run-by-name.mjs", "bench", "recall", "--help"], {});
  expect(help).toMatch(/^npm run bench -- recall \[--data-set NAME/);
});

const own = ["--base", "vectors/many.npy", "--queries", "vectors/many.npy"];
const variables = { INIT_CWD: import.meta.dirname };

test.each([
  ["bench/cold/main.mjs"],
  ["bench/encryption/main.mjs", "1"],
  ["bench/filters.mjs"],
  ["bench/oblivious.mjs"],
  ["bench/search/declared.mjs"],
  ["bench/search/index-types.mjs", "--rounds", "1"],
  ["bench/search/recall.mjs"],
])("%s", async (...args) => {
  expect(await run([...args, ...own], variables)).toMatch(/\|---/);
});

test("bench/grow.mjs", async () => {
  const sizes = ["--rows", "200", "--dimension", "8", "--times", "2", "--batch", "20"];
  expect(await run(["bench/grow.mjs", ...sizes], {})).toMatch(/\| at 2 times \(1\) \| 380 \|/);
});

test.each(["cosine", "euclidean"])("vectors of the reader's own, compared by %s", async (metric) => {
  const args = [...own, "--metric", metric, "--engine", "sealdex"];
  const printed = await run(["bench/search/main.mjs", ...args], variables);
  expect(printed).toContain("files: n = 250, d = 4");
  // Exact neighbors are found by a comparison with everything.
  expect(printed).toMatch(/\| sealdex \| all \| 1\.0000 \|/);
});

test("wrong files of the reader are named", async () => {
  const failed = (args: string[]) => run(["bench/search/main.mjs", ...args], variables);
  await expect(failed(own.slice(0, 2))).rejects.toThrow("expected both --base and --queries");
  const flat = ["--base", "vectors/many.npy", "--queries", "vectors/one-dimension.npy"];
  await expect(failed(flat)).rejects.toThrow("one-dimension.npy: has the shape (4)");
  await expect(failed([...own, "--metric", "taxicab"])).rejects.toThrow("expected cosine or euclidean");
});
