// Publishes all packages, from CI alone: with provenance, and each with its software bill of materials (CycloneDX) in the package.
// `node scripts/release.mjs --dry-run` does all of it but publishing.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { placeholder } from "./packed.mjs";
import { npm, packages, readPublished, root, stagePackage } from "./stage-package.mjs";

const isDryRun = process.argv.includes("--dry-run");
/** Also the repository, which the registry compares with the provenance: better none is out than one of three. */
const published = isDryRun ? placeholder : readPublished();

function runNpm(args, options = {}) {
  return execFileSync(npm, args, { cwd: root, encoding: "utf8", ...options });
}

const versions = Object.values(packages).map(
  (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")).version,
);
if (new Set(versions).size > 1)
  throw new Error("the packages have different versions: they are released together, under one version");

runNpm(["run", "check"], { stdio: "inherit" });
const work = mkdtempSync(join(tmpdir(), "sealdex-release-"));
for (const [name, folder] of Object.entries(packages)) {
  const staged = join(work, name);
  stagePackage(folder, staged, published);
  const scope = ["--omit=dev", "--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=library"];
  const workspace = folder === "." ? "--workspaces=false" : `--workspace=${name}`;
  writeFileSync(join(staged, "sbom.cdx.json"), runNpm(["sbom", ...scope, workspace]));
  const publish = isDryRun ? ["pack", "--dry-run"] : ["publish", "--provenance", "--access", "public"];
  runNpm(publish, { cwd: staged, stdio: "inherit" });
}
rmSync(work, { recursive: true });
