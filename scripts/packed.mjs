// The packages as npm would publish them, and projects that install them as users do.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npm, packages, root, stagePackage } from "./stage-package.mjs";

const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** Checks need an address; example.com belongs to nobody. */
export const placeholder = { repository: "https://example.com/sealdex", author: "Sealdex" };

/**
 * Packs packages, all of the workspace by default. Returns the path of each tarball by the name of its package. They are
 * packed into the folder `work`, or into the one that `SEALDEX_TARBALLS` names, unless an earlier program left them there.
 */
export function packAll(work, which = packages) {
  const into = process.env.SEALDEX_TARBALLS ?? work;
  const args = ["pack", "--silent", "--pack-destination", into];
  return Object.fromEntries(
    Object.entries(which).map(([name, folder]) => {
      const { version } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
      const tarball = join(into, `${name}-${version}.tgz`);
      if (!existsSync(tarball)) {
        const staged = join(into, "staged", name);
        stagePackage(folder, staged, placeholder);
        execFileSync(npm, args, { cwd: staged });
      }
      return [name, tarball];
    }),
  );
}

/**
 * Creates a project and runs `npm install` with these names, in the versions that this repository is tested with, and with
 * others whose versions are given.
 */
export function createProject(folder, names, tarballs, others = {}) {
  mkdirSync(folder, { recursive: true });
  const ours = Object.fromEntries(names.map((name) => [name, devDependencies[name] ?? "latest"]));
  const dependencies = { ...ours, ...others };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  installPacked(folder, tarballs);
}

/** `npm install` in a project. Packages of this repository come from their tarballs, also as dependencies of others. */
export function installPacked(folder, tarballs) {
  const file = join(folder, "package.json");
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  const overrides = {};
  for (const [name, tarball] of Object.entries(tarballs)) {
    const place = manifest.dependencies[name] ? manifest.dependencies : overrides;
    place[name] = `file:${tarball}`;
  }
  writeFileSync(file, `${JSON.stringify({ ...manifest, overrides })}\n`);
  execFileSync(npm, ["install", "--silent", "--no-audit", "--no-fund"], { cwd: folder, stdio: "inherit" });
}

/** The packages that a text says to install. */
export function namesIn(text, name) {
  const [, names] = /\bnpm install ((?:@?[a-z][\w./-]*(?: (?=@?[a-z])|))+)/.exec(text) ?? [];
  if (names === undefined) throw new Error(`${name}: it does not say what to install`);
  return names.trim().split(" ");
}
