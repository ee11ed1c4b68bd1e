// The packed package in a project with @langchain/community: its record manager and loaders write into an EncryptedVectorStore.
// test/runtimes/community.mjs is the program; check-models.mjs has the embeddings, packages/migrate/test the stores. In a project
// of its own, since its peers are older drivers than ours.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject, packAll } from "./packed.mjs";
import { patience } from "./patience.mjs";
import { root } from "./stage-package.mjs";

const work = mkdtempSync(join(tmpdir(), "sealdex-community-"));
const project = join(work, "project");
const names = ["sealdex", "@langchain/core", "@langchain/classic", "@langchain/community"];
const peers = ["d3-dsv", "pdf-parse", "srt-parser-2"];

try {
  createProject(project, [...names, ...peers], packAll(work));
  cpSync(join(root, "test", "runtimes", "community.mjs"), join(project, "community.mjs"));
  execFileSync(process.execPath, ["community.mjs"], { cwd: project, stdio: "inherit", timeout: patience });
} finally {
  rmSync(work, { recursive: true });
}
