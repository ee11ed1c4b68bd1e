// Publishes all packages, from CI alone: with provenance, and each with its software bill of materials (CycloneDX) in the package.
// `node scripts/release.mjs --dry-run` does all of it but publishing.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { billOfMaterials } from "./bill-of-materials.mjs";
import { placeholder } from "./packed.mjs";
import { integrations, npm, packages, readPublished, root, stagePackage } from "./stage-package.mjs";

const isDryRun = process.argv.includes("--dry-run");
/** Also the repository, which the registry compares with the provenance: better none is out than one of three. */
const published = isDryRun ? placeholder : readPublished();

function runNpm(args, options = {}) {
  return execFileSync(npm, args, { cwd: root, encoding: "utf8", ...options });
}

const all = { ...packages, ...integrations };
const versions = Object.values(all).map(
  (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")).version,
);
if (new Set(versions).size > 1)
  throw new Error("the packages have different versions: they are released together, under one version");

runNpm(["run", "check"], { stdio: "inherit" });
execFileSync(process.execPath, [join(root, "scripts", "check-integrations.mjs")], { stdio: "inherit" });
const work = mkdtempSync(join(tmpdir(), "sealdex-release-"));
/** By name. Later packages depend on earlier ones, and none is published before all are ready. */
const tarballs = {};
for (const [name, folder] of Object.entries(all)) {
  const staged = join(work, name);
  stagePackage(folder, staged, published);
  writeFileSync(join(staged, "sbom.cdx.json"), billOfMaterials(staged, tarballs));
  checkContents(name, staged);
  const [{ filename }] = JSON.parse(runNpm(["pack", "--json", "--pack-destination", work], { cwd: staged }));
  tarballs[name] = join(work, filename);
  console.log(`${filename}: ready`);
}
for (const tarball of isDryRun ? [] : Object.values(tarballs))
  runNpm(["publish", tarball, "--provenance", "--access", "public"], { stdio: "inherit" });
rmSync(work, { recursive: true });

/** Everything that a manifest promises is there, and neither sources nor tests. */
function checkContents(name, staged) {
  const { bin = {}, exports = {} } = JSON.parse(readFileSync(join(staged, "package.json"), "utf8"));
  const targets = (value) =>
    typeof value === "string" ? [value] : Object.values(value ?? {}).flatMap(targets);
  const files = ["LICENSE", "README.md", "sbom.cdx.json", ...targets(bin), ...targets(exports)];
  const missing = files.filter((file) => !file.includes("*") && !existsSync(join(staged, file)));
  const extra = ["src", "test", "node_modules"].filter((folder) => existsSync(join(staged, folder)));
  if (missing.length + extra.length > 0)
    throw new Error(
      `${name}: lacks ${missing.join(", ") || "nothing"}, holds ${extra.join(", ") || "nothing"} needlessly`,
    );
}
