/**
 * The oldest `@langchain/core` that the package allows, installed next to the newest under an alias. In the full tier the
 * store's tests run with it; the fast tier runs them with the newest alone.
 */

import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const modules = join(root, "node_modules");
const alias = "langchain-core-1.0";
const told = process.env.SEALDEX_LANGCHAIN_CORE;
const files = [
  "oldest-core.slow",
  "standard.slow",
  "encrypted-vector-store",
  "maximal-marginal-relevance.slow",
  "semantic-cache",
];

test.skipIf(inject("tier") === "fast")(`the store passes its tests with ${alias}`, async () => {
  const vitest = join(modules, "vitest", "vitest.mjs");
  const paths = files.map((name) => join("test", "langchain", `${name}.test.ts`));
  const run = ["run", "--config", join("test", "config", "vitest.config.ts"), "--no-isolate"];
  const { stdout } = await promisify(execFile)(process.execPath, [vitest, ...run, ...paths], {
    cwd: root,
    env: { ...process.env, SEALDEX_TIER: "", SEALDEX_LANGCHAIN_CORE: alias, NO_COLOR: "1" },
  }).catch((error: unknown) => error as { stdout: string });
  expect(stdout).toMatch(/Test Files {2}5 passed \(5\)/);
  expect(stdout).toMatch(/Tests {2}\d+ passed \| 1 skipped/);
  expect(stdout).toMatch(/^\d+ passed, 0 failed$/m);
});

test("this run uses the core that it was told to", async () => {
  const { StructuredQuery } = await import("@langchain/core/structured_query");
  const file = join(modules, told ?? "@langchain/core", "dist", "structured_query", "index.js");
  const theirs = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as object;
  expect(theirs).toMatchObject({ StructuredQuery });
});
