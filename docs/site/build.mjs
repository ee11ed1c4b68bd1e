// Builds the site: a home page, the Markdown files of the repository and their pictures under their own paths, and the API
// reference beside them. A dead link fails the build, and so does a guide that the navigation lacks.

import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { integrations } from "../../scripts/stage-package.mjs";

const site = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(site));
const pages = join(site, "pages");

const guides = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
const documents = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench/README.md",
  "examples/next-app/README.md",
  "packages/server/README.md",
  ...Object.values(integrations).map((folder) => `${folder}/README.md`),
  ...guides.filter((name) => /^(?!site\b).*\.(md|svg|webp)$/.test(name)).map((name) => `docs/${name}`),
];

rmSync(pages, { recursive: true, force: true });
for (const name of documents) cpSync(join(root, name), join(pages, name));
const [, opening] =
  /\n(!\[[^]*?)\n## LangChain\.js/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
if (opening === undefined) throw new Error("README.md has no picture followed by the section LangChain.js");
writeFileSync(join(pages, "index.md"), readFileSync(join(site, "home.md"), "utf8") + opening);
for (const [tool, ...args] of [["typedoc"], ["vitepress", "build"]]) {
  execFileSync(join(site, "node_modules", ".bin", tool), args, { cwd: site, stdio: "inherit" });
}
