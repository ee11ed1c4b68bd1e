// The packed package in a project with @langchain/community: its record manager and loaders write into an EncryptedVectorStore, and
// docs/migrating.md moves its HNSWLib and FaissStore into one. test/runtimes/community.mjs is the program; check-models.mjs has the
// embeddings. In a project of its own, since its peers are older drivers than ours.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject, packAll } from "./packed.mjs";
import { root } from "./stage-package.mjs";

const work = mkdtempSync(join(tmpdir(), "sealdex-community-"));
const project = join(work, "project");
const names = ["sealdex", "@langchain/core", "@langchain/classic", "@langchain/community"];
const peers = ["d3-dsv", "hnswlib-node", "pdf-parse", "srt-parser-2"];
const page = readFileSync(join(root, "docs", "migrating.md"), "utf8");

/** The first program of the page in the section with this title. */
function programIn(title) {
  const [, code] = page.slice(page.indexOf(title)).match(/```js\n([\s\S]*?)```/);
  return code;
}

try {
  createProject(project, [...names, ...peers], packAll(work));
  cpSync(join(root, "test", "runtimes", "community.mjs"), join(project, "community.mjs"));
  writeFileSync(join(project, "new-index.mjs"), programIn("# Moving"));
  writeFileSync(join(project, "hnswlib.mjs"), programIn("## Move from HNSWLib"));
  writeFileSync(join(project, "faiss.mjs"), programIn("## Move from FAISS"));
  for (const args of [
    ["community.mjs", "save"],
    ["hnswlib.mjs"],
    ["faiss.mjs"],
    ["community.mjs", "check"],
  ]) {
    console.log(`> ${args.join(" ")}`);
    execFileSync(process.execPath, args, { cwd: project, stdio: "inherit", timeout: 120_000 });
  }
} finally {
  rmSync(work, { recursive: true });
}
