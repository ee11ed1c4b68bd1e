// A package as it is published: its files in a folder of their own, its manifest with the addresses of the repository,
// and links that work outside of it.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const npm = process.platform === "win32" ? "npm.cmd" : "npm";

/** The packages and their folders, in the order in which they are published. */
export const packages = {
  "sealdex-model": "packages/model",
  sealdex: ".",
  "langchain-sealdex": "packages/langchain-sealdex",
  "sealdex-server": "packages/server",
};

/** Packages that connect others' projects: each is installed in its own folder, and needs Node 22. */
export const integrations = {
  "sealdex-ai": "packages/ai",
  "sealdex-mastra": "packages/mastra",
  "sealdex-mcp": "packages/mcp",
  "sealdex-migrate": "packages/migrate",
};

/** Filled for a release, and empty before: an address that is not ours would mislead. */
export function readPublished(file = join(root, "scripts", "published.json")) {
  const published = JSON.parse(readFileSync(file, "utf8"));
  for (const name of ["repository", "author"]) {
    if (!published[name]) throw new Error(`scripts/published.json: ${name} is empty; a release needs it`);
  }
  return published;
}

/** Copies a package's files to a new folder. `repository` is an https URL, without a slash at its end. */
export function stagePackage(folder, into, { repository, author }) {
  const packed = execFileSync(npm, ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: join(root, folder),
    encoding: "utf8",
    maxBuffer: 1e8,
  });
  const files = JSON.parse(packed)[0].files.map(({ path }) => path);
  for (const path of files) {
    mkdirSync(dirname(join(into, path)), { recursive: true });
    cpSync(join(root, folder, path), join(into, path));
  }

  const manifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  for (const name of ["devDependencies", "overrides", "scripts", "workspaces"]) delete manifest[name];
  const place = {
    author,
    homepage: `${repository}#readme`,
    bugs: { url: `${repository}/issues` },
    repository: {
      type: "git",
      url: `git+${repository}.git`,
      ...(folder !== "." && { directory: folder }),
    },
  };
  writeFileSync(join(into, "package.json"), `${JSON.stringify({ ...manifest, ...place }, null, 2)}\n`);

  const published = new Set(files);
  for (const path of files.filter((name) => name.endsWith(".md"))) {
    const text = readFileSync(join(into, path), "utf8");
    const isShownAlone = !path.includes("/");
    const absolute = (target) => {
      const inPackage = posix.join(posix.dirname(path), target);
      // The registry shows a README where no relative link leads anywhere.
      if (!isShownAlone && published.has(inPackage)) return target;
      const kind = /\.(svg|webp)$/.test(target) ? "raw" : "blob";
      return `${repository}/${kind}/v${manifest.version}/${posix.join(folder, inPackage)}`;
    };
    writeFileSync(
      join(into, path),
      text.replaceAll(
        relativeLink,
        (_, before, target, anchor = "") => `${before}${absolute(target)}${anchor})`,
      ),
    );
  }
}

/** `](target#anchor)`, unless the target is a URL or an anchor alone. */
export const relativeLink = /(\]\()(?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)/g;
