// The packages that connect others' projects, each with its dependencies in its own folder: lint, types, build, tests on real
// components of its field, and its example with the packed packages. `node scripts/check-integrations.mjs mcp` checks one.
// Those projects need Node 22: an older Node that runs this fetches a newer one from npm.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createProject, namesIn, packAll } from "./packed.mjs";
import { integrations, npm, root } from "./stage-package.mjs";

/** Parts of what each example prints. An example without an entry here is a failure. */
const expected = {
  "examples/ai/agent.mjs": ["Noted.", 'My train to Basel leaves at 7:12.",', "Memories: 2"],
  "examples/mastra/agent-memory.mjs": [
    "When does the train to Basel leave?\nUser: My train to Basel leaves at 7:12.",
    "memory_messages_256",
  ],
  "examples/mcp/search-notes.mjs": [
    "The encryption keys are rotated each January.",
    "Ann prefers trains to planes.",
    "Forgotten.",
  ],
  "examples/migrate/memory.mjs": [
    "metric cosine.\nTo a new index notes.",
    "Check: all 2 ids are in the index.",
    "keys Keys are rotated every year. { page: 1, reviewed: null }",
  ],
};

const work = mkdtempSync(join(tmpdir(), "sealdex-integrations-"));
const wanted = process.argv.slice(2);
const folders = Object.values(integrations).filter(
  (folder) => wanted.length === 0 || wanted.includes(basename(folder)),
);
const bin = (...path) => join(root, "node_modules", ...path);

function run(command, args, options = {}) {
  execFileSync(command, args, { cwd: root, stdio: "inherit", ...options });
}

function newerNode() {
  if (Number(process.versions.node.split(".")[0]) >= 22) return process.execPath;
  const folder = join(work, "node");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  // The package brings its program by a script.
  run(npm, ["install", "--silent", "--ignore-scripts=false", "node@24"], { cwd: folder });
  return join(folder, "node_modules", "node", "bin", "node");
}

const node = newerNode();
const env = {
  ...process.env,
  PATH: `${dirname(node)}:${process.env.PATH}`,
  SEALDEX_TIER: "integrations",
};
try {
  for (const folder of folders) {
    run(npm, ["ci"], { cwd: join(root, folder), env });
    run(node, [bin("typescript", "bin", "tsc"), "-p", folder]);
    rmSync(join(root, folder, "dist"), { recursive: true, force: true });
    run(node, [bin("typescript", "bin", "tsc"), "-p", join(folder, "tsconfig.build.json")]);
    run(process.execPath, [bin("oxlint", "bin", "oxlint"), "--deny-warnings", folder]);
  }
  const vitest = [bin("vitest", "vitest.mjs"), "run", "--config", "test/config/vitest.config.ts"];
  run(node, [...vitest, ...folders], { env });

  const tarballs = { ...packAll(work), ...packAll(work, integrations) };
  for (const name of folders.map((folder) => basename(folder))) {
    const examples = join("examples", name);
    for (const file of readdirSync(join(root, examples)).filter((entry) => entry.endsWith(".mjs"))) {
      runTwice(join(examples, file), tarballs);
    }
  }
  console.log(`${folders.length} integrations: tests passed, examples run.`);
} finally {
  rmSync(work, { recursive: true });
}

/** Runs an example in a project that has what its header says. */
function runTwice(path, tarballs) {
  const texts = expected[path];
  if (!texts) throw new Error(`${path}: scripts/check-integrations.mjs does not say what it must print`);
  const project = mkdtempSync(join(work, "example-"));
  createProject(project, namesIn(readFileSync(join(root, path), "utf8"), path), tarballs);
  cpSync(join(root, dirname(path)), project, { recursive: true });
  for (let i = 0; i < 2; i++) {
    const printed = execFileSync(node, [basename(path)], { cwd: project, env, encoding: "utf8" });
    for (const text of texts) {
      if (!printed.includes(text))
        throw new Error(`${path}: expected ${JSON.stringify(text)} in:\n${printed}`);
    }
  }
  console.log(`> ${path}: as expected`);
}
