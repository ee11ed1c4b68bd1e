// Runs examples/walkthrough.ipynb as a reader would, in Deno's Jupyter kernel, in a project that has what the notebook says to
// install and nothing else, twice. Fails if a cell fails, or prints something else than what is committed; of a cell with the
// tag "varies", the number of lines has to be the same. `node scripts/check-notebook.mjs --write` commits new outputs.
// Needs python3 with venv, and PyPI.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject, namesIn, packAll } from "./packed.mjs";
import { patience } from "./patience.mjs";
import { createEnvironment } from "./python-packages.mjs";
import { root } from "./stage-package.mjs";

const committed = join(root, "examples", "walkthrough.ipynb");
const work = mkdtempSync(join(tmpdir(), "sealdex-notebook-"));
const python = join(work, "python");
const reader = join(work, "reader");
const executed = join(work, "executed.ipynb");
const run = (command, args, env = {}) =>
  execFileSync(command, args, { env: { ...process.env, ...env }, stdio: "inherit", timeout: patience });

createEnvironment(python, "nbclient==0.11.0");
const names = namesIn(readFileSync(committed, "utf8"), "examples/walkthrough.ipynb");
createProject(reader, [...names, "deno"], packAll(work));

// As `deno jupyter --install` does it, but for this run alone.
const kernels = join(work, "jupyter", "kernels", "deno");
mkdirSync(kernels, { recursive: true });
const deno = join(reader, "node_modules", ".bin", "deno");
const argv = [deno, "jupyter", "--kernel", "--conn", "{connection_file}"];
writeFileSync(
  join(kernels, "kernel.json"),
  JSON.stringify({ argv, display_name: "Deno", language: "typescript" }),
);

for (let i = 0; i < 2; i++) {
  run(
    join(python, "bin", "python"),
    [join(root, "scripts", "run-notebook.py"), committed, reader, executed],
    {
      JUPYTER_PATH: join(work, "jupyter"),
      NO_COLOR: "1",
    },
  );
  if (process.argv.includes("--write")) copyFileSync(executed, committed);
  const [expected, got] = [committed, executed].map(outputsOf);
  for (const [cell, output] of got.entries()) {
    if (output !== expected[cell])
      throw new Error(`examples/walkthrough.ipynb, cell ${cell}: expected ${expected[cell]}, got ${output}`);
  }
}
rmSync(work, { recursive: true });
console.log("examples/walkthrough.ipynb runs, and prints what is committed.");

/** Of each cell, as JSON. */
function outputsOf(file) {
  const { cells } = JSON.parse(readFileSync(file, "utf8"));
  return cells.map(({ outputs = [], metadata }) =>
    JSON.stringify(metadata.tags?.includes("varies") ? outputs.map(linesIn) : outputs),
  );
}

function linesIn({ data }) {
  return data["text/plain"].length;
}
