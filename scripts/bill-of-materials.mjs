// The software bill of materials of a package (CycloneDX): all that npm installs with it. `npm sbom` cannot make it in this
// repository, whose root is a workspace and a dependency of its workspaces.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { npm } from "./stage-package.mjs";

/** Of a staged package. `tarballs`: by name, the packages of this repository that it may depend on. */
export function billOfMaterials(staged, tarballs) {
  const manifest = JSON.parse(readFileSync(join(staged, "package.json"), "utf8"));
  const { name, version, license, dependencies = {}, optionalDependencies = {} } = manifest;
  const own = (names) =>
    Object.fromEntries(
      Object.entries(names).map(([each, range]) => [each, tarballs[each] ? `file:${tarballs[each]}` : range]),
    );
  const direct = { ...own(dependencies), ...own(optionalDependencies) };
  const overrides = Object.fromEntries(
    Object.keys(tarballs).flatMap((each) => (direct[each] ? [] : [[each, `file:${tarballs[each]}`]])),
  );
  const work = mkdtempSync(join(tmpdir(), "sealdex-bill-"));
  // npm names the bill after the folder.
  const folder = join(work, name);
  mkdirSync(folder);
  const run = (...args) => execFileSync(npm, args, { cwd: folder, encoding: "utf8", maxBuffer: 1e8 });
  try {
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ name, version, license, dependencies: direct, overrides }),
    );
    run("install", "--package-lock-only", "--legacy-peer-deps", "--no-audit", "--no-fund", "--silent");
    return run(
      "sbom",
      "--package-lock-only",
      "--legacy-peer-deps",
      "--sbom-format=cyclonedx",
      "--sbom-type=library",
    );
  } finally {
    rmSync(work, { recursive: true });
  }
}
