// Every runtime that the README names: a program and the quickstart from the packed package, and the suites of the embedded
// index, local disk, the LangChain store and the kernel threads. On the Node that runs this, all suites have run before; Node 22
// is between two that run them, and runs the programs alone.
// `node scripts/check-runtimes.mjs bun deno` checks some of them.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject, packAll } from "./packed.mjs";
import { npm, root } from "./stage-package.mjs";

/** Names of npm packages that bring a runtime, the program in each, and its arguments before a script. */
const runtimes = {
  "node@20": ["node"],
  "node@22": ["node"],
  "node@24": ["node"],
  bun: ["bun", "--bun"],
  deno: ["deno", "run", "--allow-all"],
};
const suites = [
  "test/behavior/embedded.test.ts",
  "test/storage/local.slow.test.ts",
  "test/engine/kernel-threads.slow.test.ts",
  "test/langchain/standard.slow.test.ts",
  "test/langchain/encrypted-vector-store.test.ts",
];

const work = mkdtempSync(join(tmpdir(), "sealdex-runtimes-"));
const user = join(work, "user");
createProject(user, ["sealdex", "sealdex-model", "@langchain/core"], packAll(work));
cpSync(join(root, "test", "runtimes", "packed.mjs"), join(user, "packed.mjs"));
cpSync(join(root, "examples", "langchain", "quickstart.mjs"), join(user, "quickstart.mjs"));

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(runtimes);
for (const name of names) {
  const folder = join(work, name);
  execFileSync(npm, ["install", "--prefix", folder, "--silent", "--no-audit", "--no-fund", name], {
    stdio: "inherit",
  });
  const [program, ...flags] = runtimes[name];
  const command = join(folder, "node_modules", ".bin", program);
  const run = (args, cwd, stdio) =>
    execFileSync(command, [...flags, ...args], { cwd, stdio, encoding: "utf8" });
  run(["packed.mjs"], user, "inherit");
  const printed = run(["quickstart.mjs"], user, ["ignore", "pipe", "inherit"]);
  // Runtimes differ in the quotes of what they print.
  for (const text of ["Opened again: [ 'salmon', 'keys' ]", "With another key: wrong_index_key"]) {
    if (!printed.replaceAll('"', "'").includes(text)) {
      throw new Error(`${name}: expected ${text} in:\n${printed}`);
    }
  }
  if (name === `node@${process.versions.node.split(".")[0]}` || name === "node@22") continue;
  const vitest = [
    join("node_modules", "vitest", "vitest.mjs"),
    "run",
    "--config",
    join("test", "config", "vitest.config.ts"),
  ];
  run([...vitest, ...suites], root, "inherit");
}
rmSync(work, { recursive: true });
console.log(`${names.length} runtimes run the packed package.`);
