// Installs packages of PyPI, with uv, which takes a tenth of pip's processor time. Needs python3 with venv, and PyPI.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./stage-package.mjs";

/** Where the tests find what they need. */
export const pythonFolder = join(root, ".python");
const requirement = "uv==0.13.9";
/** With the certificates that pip, npm and git trust, too. */
const install = ["pip", "install", "--quiet", "--system-certs"];

const run = (command, ...args) => execFileSync(command, args, { stdio: "inherit" });

/** Makes a virtual environment with these packages. */
export function createEnvironment(folder, ...packages) {
  const uv = installUv();
  run(uv, "venv", "--quiet", "--clear", folder);
  run(uv, ...install, "--python", join(folder, "bin", "python"), ...packages);
}

/** Puts the files of a package into a folder. */
export function installFiles(folder, name) {
  run(installUv(), ...install, "--no-deps", "--target", folder, name);
}

function installUv() {
  const folder = join(pythonFolder, "uv");
  installOnce(folder, requirement, () => {
    run("python3", "-m", "venv", folder);
    run(join(folder, "bin", "pip"), "install", "--quiet", requirement);
  });
  return join(folder, "bin", "uv");
}

/** Calls `fill` unless it has filled the folder with just this before. */
export function installOnce(folder, wanted, fill) {
  // Written last: a folder without it is not complete.
  const mark = join(folder, "sealdex-requirements.txt");
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  fill();
  writeFileSync(mark, wanted);
}
