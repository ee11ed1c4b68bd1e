/** Makes a virtual environment for each published Python client, in .python/. Needs python3 with venv, and PyPI. */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const versions = JSON.parse(readFileSync(path("test/clients/versions.json"), "utf8"));

for (const version of versions) {
  const folder = path(`.python/${version}`);
  // Written last: an environment without it is not complete.
  const lock = `${folder}/sealdex-requirements.txt`;
  const wanted = readFileSync(path("test/clients/requirements.txt"), "utf8");
  if (existsSync(lock) && readFileSync(lock, "utf8") === wanted) continue;
  rmSync(folder, { recursive: true, force: true });
  const run = (command, ...args) => execFileSync(command, args, { stdio: "inherit" });
  run("python3", "-m", "venv", folder);
  const requirements = path("test/clients/requirements.txt");
  run(`${folder}/bin/pip`, "install", "--quiet", `cyborgdb==${version}`, "-r", requirements);
  run("cp", requirements, lock);
}
console.log(`Python clients: ${versions.join(", ")}`);
