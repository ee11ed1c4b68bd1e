// Checks the files of packages/server/deploy/ with the tools that will read them: the manifests against the schemas of Kubernetes (PyPI:
// kubernetes-validate, which brings them), the unit with systemd-analyze, if this machine has it.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEnvironment } from "./python-packages.mjs";
import { root } from "./stage-package.mjs";

const deploy = join(root, "packages", "server", "deploy");
const work = mkdtempSync(join(tmpdir(), "sealdex-deploy-"));
/** The exposure that systemd computes for the unit, in tenths: from 0, sealed off, to 100. */
const exposureMax = 15;

function run(command, ...args) {
  console.log(`> ${command} ${args.join(" ")}`);
  execFileSync(command, args, { stdio: "inherit" });
}

try {
  createEnvironment(work, "kubernetes-validate==1.37.0");
  const folders = ["kubernetes", "kubernetes-ingest", "kubernetes-leaves"].map((name) => join(deploy, name));
  const manifests = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  run(join(work, "bin", "kubernetes-validate"), "--strict", ...manifests);
  if (existsSync("/usr/bin/systemd-analyze")) {
    const unit = join(work, "sealdex.service");
    // The service is not installed here: another command takes its place.
    const text = readFileSync(join(deploy, "sealdex.service"), "utf8");
    writeFileSync(unit, text.replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath}`));
    run("systemd-analyze", "verify", unit);
    run("systemd-analyze", "security", "--offline=true", "--no-pager", `--threshold=${exposureMax}`, unit);
  } else {
    console.log("systemd-analyze is not installed: the unit was not checked");
  }
} finally {
  rmSync(work, { recursive: true });
}
