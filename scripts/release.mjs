// Publishes all packages, from CI alone: with provenance, and each with its software bill of materials (CycloneDX) in the package.
// `node scripts/release.mjs --dry-run` does all of it but publishing.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isDryRun = process.argv.includes("--dry-run");
const packages = [
  { folder: "packages/model", workspace: ["--workspace=sealdex-model"] },
  { folder: ".", workspace: ["--workspaces=false"] },
  { folder: "packages/server", workspace: ["--workspace=sealdex-server"] },
];

function npm(args, options = {}) {
  return execFileSync("npm", args, { cwd: root, encoding: "utf8", ...options });
}

const manifests = packages.map(({ folder }) =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")),
);
if (new Set(manifests.map(({ version }) => version)).size > 1)
  throw new Error("the packages have different versions: they are released together, under one version");

if (!isDryRun) {
  for (const { name, repository } of manifests) {
    // The registry compares it with the provenance: better no package is out than one of three.
    if (!repository)
      throw new Error(`${name}: package.json has no repository, without which provenance is refused`);
  }
}
npm(["run", "check"], { stdio: "inherit" });
for (const { folder, workspace } of packages) {
  const bill = join(root, folder, "sbom.cdx.json");
  const scope = ["--omit=dev", "--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=library"];
  writeFileSync(bill, npm(["sbom", ...scope, ...workspace]));
  try {
    const publish = isDryRun ? ["pack", "--dry-run"] : ["publish", "--provenance", "--access", "public"];
    npm(publish, { cwd: join(root, folder), stdio: "inherit" });
  } finally {
    rmSync(bill);
  }
}
