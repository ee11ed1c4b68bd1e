// The stores in test/runtimes/runners/, from the packed package, as in the tests of those who use it: Jest 29 and 30 with their
// defaults, Vitest with the pools that give each test a realm of its own, and the fake timers of each and of sinon. Also the cells
// of a notebook.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject, packAll } from "./packed.mjs";
import { patience } from "./patience.mjs";
import { root } from "./stage-package.mjs";

const work = mkdtempSync(join(tmpdir(), "sealdex-runners-"));
const tarballs = packAll(work);
const sources = join(root, "test", "runtimes", "runners");
const names = ["sealdex", "@langchain/core", "@langchain/langgraph-checkpoint", "sinon"];

/** A project with a test runner. */
function projectWith(name, version) {
  const folder = join(work, `${name}-${version}`);
  createProject(folder, names, tarballs, { [name]: version });
  return folder;
}

function run(folder, ...args) {
  console.log(`> ${args.join(" ")}`);
  execFileSync("npx", ["--no", ...args], { cwd: folder, stdio: "inherit", timeout: patience });
}

try {
  // Jest's default is CommonJS.
  const commonJs = readFileSync(join(sources, "store.test.mjs"), "utf8").replaceAll(
    /^import (.*?) from (".*?");$/gm,
    "const $1 = require($2);",
  );
  for (const version of ["29", "30"]) {
    const folder = projectWith("jest", version);
    writeFileSync(join(folder, "store.test.js"), commonJs);
    run(folder, "jest");
  }
  const folder = projectWith("vitest", "latest");
  cpSync(sources, folder, { recursive: true });
  for (const pool of ["vmThreads", "vmForks", "forks"]) {
    run(folder, "vitest", "run", "--globals", `--pool=${pool}`);
  }
  run(folder, "node", "cells.mjs", join(folder, "data"));
} finally {
  rmSync(work, { recursive: true });
}
console.log("The stores work in Jest 29 and 30, in Vitest and in a notebook.");
