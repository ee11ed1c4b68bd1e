// Runs agents of the newest langchain and deepagents with the packed package, as their users do: see test/runtimes/agents.mjs. Each is
// interrupted in one process and resumed in another. Nothing of their state or files is stored in clear.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject, packAll } from "./packed.mjs";
import { root } from "./stage-package.mjs";

const work = mkdtempSync(join(tmpdir(), "sealdex-agents-"));
const project = join(work, "project");
const data = join(project, "data");
const names = ["sealdex", "langchain", "@langchain/core", "@langchain/langgraph", "deepagents", "zod"];
try {
  createProject(project, names, packAll(work));
  cpSync(join(root, "test", "runtimes", "agents.mjs"), join(project, "agents.mjs"));
  for (const phase of ["begin", "resume"]) {
    execFileSync(process.execPath, ["agents.mjs", phase], { cwd: project, stdio: "inherit" });
  }
  const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const clear = files.filter(({ parentPath, name }) =>
    readFileSync(join(parentPath, name)).includes("canary"),
  );
  if (files.length === 0 || clear.length > 0) {
    throw new Error(`${clear.length} of ${files.length} files have something in clear`);
  }
  console.log(`${files.length} files, none with anything in clear`);
} finally {
  rmSync(work, { recursive: true });
}
