/**
 * The code of docs/items.md does what it says, and docs/errors.md lists every code. Other pages run as users install
 * them: scripts/check-examples.mjs.
 */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Runs a program that imports `sealdex`, in a folder of its own; returns its output. */
async function run(program: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sealdex-readme-"));
  // Run from the project, where its own name resolves, with its files elsewhere.
  const moved = program.replaceAll(/"(?:\.\/)?(data|notes\.key|pages\.jsonl)"/g, (_, name: string) =>
    JSON.stringify(join(folder, name)),
  );
  const args = ["--input-type=module", "-e", moved];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  await rm(folder, { recursive: true });
  return stdout;
}

test("every error code is listed", () => {
  const codes = [...readFileSync(join(root, "src/errors.ts"), "utf8").matchAll(/^ {2}"(\w+)",$/gm)];
  const table = readFileSync(join(root, "docs", "errors.md"), "utf8");
  expect(codes.length).toBeGreaterThan(15);
  for (const [, code] of codes) expect(table, code).toContain(`\`${code}\``);
});

test("docs/items.md runs from its first line to its last", async () => {
  const text = readFileSync(join(root, "docs", "items.md"), "utf8");
  const program = [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code).join("\n");
  const printed = (await run(program)).trim().split("\n");
  // Two batches of an ingest and the lines of an import.
  expect([printed.slice(0, 3), printed.at(-1)]).toEqual([
    ["guide#1 guide.md", "guide#2 guide.md", "news#1 news.md"],
    "2500",
  ]);
});

test("the charts show the tables of bench/README.md: npm run bench -- chart", async () => {
  const program = "../bench/search/chart-of-results.mjs";
  const { chartsOfResults } = (await import(program)) as {
    chartsOfResults(text: string): [name: string, chart: string][];
  };
  const charts = chartsOfResults(readFileSync(join(root, "bench", "README.md"), "utf8"));
  expect(charts.length).toBe(2);
  for (const [name, chart] of charts) {
    expect(readFileSync(join(root, "docs", "pictures", name), "utf8"), name).toBe(chart);
  }
});
