// Builds the site: the Markdown files of the repository and their pictures under their own paths, and the API reference beside them. A dead link
// fails the build.

import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const site = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(site));
const pages = join(site, "pages");

const guides = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
const documents = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "bench/README.md",
  "packages/server/README.md",
  ...guides.filter((name) => /^(?!site\b).*\.(md|svg|webp)$/.test(name)).map((name) => `docs/${name}`),
];

rmSync(pages, { recursive: true, force: true });
for (const name of documents) cpSync(join(root, name), join(pages, name));
for (const [tool, ...args] of [["typedoc"], ["vitepress", "build"]]) {
  execFileSync(join(site, "node_modules", ".bin", tool), args, { cwd: site, stdio: "inherit" });
}
