// Packs all packages, installs them where nothing else is but what they ask for, and uses them as their users would: by
// import, by require, from TypeScript, and as a command.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { billOfMaterials } from "./bill-of-materials.mjs";
import { createProject, packAll, placeholder } from "./packed.mjs";
import { untilOk } from "./patience.mjs";
import { npm, packages, relativeLink, root } from "./stage-package.mjs";

const work = mkdtempSync(join(tmpdir(), "sealdex-package-"));

function run(command, args, cwd) {
  console.log(`> ${command} ${args.join(" ")}`);
  execFileSync(command, args, { cwd, stdio: "inherit" });
}

function output(command, args, cwd) {
  return execFileSync(command, args, { cwd, encoding: "utf8" });
}

const tarballs = packAll(work);
const {
  sealdex: library,
  "sealdex-model": model,
  "sealdex-server": server,
  "langchain-sealdex": langchain,
} = tarballs;
const staged = join(dirname(library), "staged");
for (const packed of Object.values(tarballs)) run("npx", ["--no", "publint", "--strict", packed], root);
for (const packed of [library, model, langchain])
  run("npx", ["--no", "attw", packed, "--profile", "node16"], root);

for (const name of Object.keys(packages)) checkBill(name);
for (const name of Object.keys(packages)) checkLinks(name, join(staged, name));

const project = join(work, "project");
createProject(project, ["sealdex", "@langchain/core"], tarballs);

const installed = JSON.parse(readFileSync(join(project, "node_modules", "sealdex", "package.json"), "utf8"));
for (const script of ["preinstall", "install", "postinstall"]) {
  if (installed.scripts?.[script]) throw new Error(`sealdex has a ${script} script`);
}
if (installed.dependencies) throw new Error("sealdex has dependencies that are not optional");

const use = `
const store = new EncryptedVectorStore("default", {
  indexName: "notes", indexKey: generateKey(), indexLocation: { location: "local", path: process.argv[2] },
});
const [id] = await store.addTexts(["Keys are rotated every year.", "Salmon swim upstream."], [{ n: 1 }, { n: 2 }]);
const [[document, score]] = await store.similaritySearchWithScore("How often are passwords changed?", 1);
if (document.id !== id || document.metadata.n !== 1 || !(score > 0 && score < 1)) throw new Error("wrong answer");
await store.close();
`;
const names = "EncryptedVectorStore, generateKey";
const programs = {
  "use.mjs": `import { ${names} } from "sealdex";\n${use}console.log("import works");\n`,
  "use.cjs": `const { ${names} } = require("sealdex");\n(async () => {${use}console.log("require works");\n})();\n`,
  "hints.mjs": `
import { EncryptedVectorStore, generateKey } from "sealdex";
for (const [model, hint] of [["defualt", 'did you mean "default"?'], ["text-embedding-3-small", "OpenAIEmbeddings"]]) {
  const store = new EncryptedVectorStore(model, {
    indexName: "notes", indexKey: generateKey(), indexLocation: { location: "memory" }, models: { offline: true },
  });
  const message = await store.addTexts(["a"]).then(() => "none", (error) => error.message);
  if (!message.includes(hint)) throw new Error(model + ": expected " + hint + ", got " + message);
  await store.close();
}
`,
  "core.cjs": `require("sealdex/core"); require("sealdex/client"); require("sealdex/storage/conformance");\n`,
  "core.mjs": `import "sealdex/core"; import "sealdex/client"; import "sealdex/storage/conformance";\n`,
};
for (const [name, program] of Object.entries(programs)) {
  writeFileSync(join(project, name), program);
  run(process.execPath, [name, join(work, `data-${name.replace(".", "-")}`)], project);
}

checkLangChain();
checkAsk(join(project, "node_modules", ".bin", "sealdex"));

const command = join(work, "command");
mkdirSync(command);
writeFileSync(join(command, "package.json"), '{ "private": true }\n');
const installing = spawnSync(npm, ["install", "--no-audit", "--no-fund", library, model, server], {
  cwd: command,
  encoding: "utf8",
});
// On the oldest Node that is supported, where CI runs this.
if (installing.status !== 0 || /EBADENGINE|deprecated/.test(installing.stderr))
  throw new Error(installing.stderr);
const key = output("npx", ["--no", "sealdex-server", "generate-key"], command).trim();
if (!/^[0-9a-f]{64}$/.test(key)) throw new Error("sealdex-server generate-key printed no key");
await serveAndAsk();
rmSync(work, { recursive: true });
console.log("The packages install and work.");

/** The bill of materials names the package, all that npm installs with it, and no tool of ours. */
function checkBill(name) {
  const bill = JSON.parse(billOfMaterials(join(staged, name), tarballs));
  const listed = bill.components.map((component) => component.name);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(root, packages[name], "package.json"), "utf8"),
  );
  const direct = Object.keys({ ...dependencies, ...optionalDependencies });
  const missing = direct.filter((each) => !listed.includes(each));
  if (bill.metadata.component.name !== name || missing.length > 0 || listed.includes("vitest"))
    throw new Error(`${name}: its bill of materials lists ${listed.join(", ") || "nothing"}`);
}

/** No link in a package leads nowhere: those to other files of the repository have its address. */
function checkLinks(name, folder) {
  const { repository, homepage, bugs, author } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  if (
    !repository.url.includes(placeholder.repository) ||
    !homepage ||
    !bugs.url ||
    author !== placeholder.author
  )
    throw new Error(`${name}: its manifest lacks the addresses of the repository`);
  const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".md"),
  );
  for (const page of pages) {
    const text = readFileSync(join(folder, page), "utf8");
    const targets = [...text.matchAll(relativeLink)].map(([, , target]) => target);
    const dead = targets.filter((target) => !existsSync(join(folder, dirname(page), target)));
    if (dead.length > 0) throw new Error(`${name}: ${page} has dead links: ${dead.join(", ")}`);
    for (const [, path] of text.matchAll(
      /https:\/\/example\.com\/sealdex\/(?:blob|raw)\/v[^/]+\/([^)#\s]+)/g,
    )) {
      if (!existsSync(join(root, path)))
        throw new Error(`${name}: ${page} links to ${path}, which the repository lacks`);
    }
  }
}

/** `langchain-sealdex` has all that `sealdex` has, by import and by require, and it is the same. */
function checkLangChain() {
  const folder = join(work, "langchain");
  createProject(
    folder,
    ["langchain-sealdex", "@langchain/core", "@langchain/langgraph-checkpoint"],
    tarballs,
  );
  const compare = `
for (const [name, value] of Object.entries(original)) {
  if (thin[name] !== value) throw new Error(name + " is missing or another one");
}
`;
  const modules = ["sealdex", "sealdex/langgraph"].map((name) => [name, `langchain-${name}`]);
  for (const [original, thin] of modules) {
    const file = thin.replace("/", "-");
    const esm = `import * as original from "${original}";\nimport * as thin from "${thin}";\n`;
    writeFileSync(join(folder, `${file}.mjs`), esm + compare);
    const cjs = `const original = require("${original}");\nconst thin = require("${thin}");\n`;
    writeFileSync(join(folder, `${file}.cjs`), cjs + compare);
    for (const format of ["mjs", "cjs"]) run(process.execPath, [`${file}.${format}`], folder);
  }
  const program = programs["use.mjs"].replace('"sealdex"', '"langchain-sealdex"');
  writeFileSync(join(folder, "use.mjs"), program);
  run(process.execPath, ["use.mjs", join(folder, "data")], folder);
}

/** `sealdex ask` in an empty folder: twice, then with a file changed and one deleted. */
function checkAsk(program) {
  const folder = join(work, "ask");
  const docs = join(folder, "docs");
  mkdirSync(docs, { recursive: true });
  const write = (name, text) => writeFileSync(join(docs, name), text);
  write("keys.md", "# Keys\n\nKeys are rotated every year, in March.\n");
  write("copy.md", "# Keys\n\nKeys are rotated every year, in March.\n");
  write("fish.txt", "Salmon swim upstream in autumn.\n");
  const ask = (...args) => spawnSync(program, args, { cwd: folder, encoding: "utf8" });
  const expectAll = (args, status, ...texts) => {
    const { stdout, stderr, status: received } = ask(...args);
    const printed = stdout + stderr;
    if (received !== status || texts.some((text) => !printed.includes(text)) || /\n {4}at /.test(printed))
      throw new Error(`sealdex ${args.join(" ")}: expected ${status}, ${texts.join("; ")}, got ${printed}`);
    return printed;
  };
  const question = ["ask", "How often are keys rotated?", "--folder", "docs"];
  const first = expectAll([...question, "--check"], 0, "3 passages added", "every year", "none was found");
  if (first.match(/every year/g).length !== 1) throw new Error("sealdex ask showed two copies of a text");
  expectAll(question, 0, "is up to date", "every year");
  write("keys.md", "# Keys\n\nKeys are rotated every week.\n");
  rmSync(join(docs, "copy.md"));
  const followed = expectAll(question, 0, "1 passage added, 2 removed", "every week");
  if (followed.includes("every year")) throw new Error("sealdex ask found a deleted text");
  expectAll(["--help"], 0, "Usage: npx sealdex ask");
  expectAll(["ask", "a question", "--folder", "absent"], 1, "sealdex: there is no folder");
  expectAll(["ask"], 1, "sealdex: expected a question");
  expectAll(["answer"], 1, 'there is no command "answer"');
  const home = join(folder, ".sealdex");
  if (readFileSync(join(home, ".gitignore"), "utf8") !== "*\n") throw new Error(".sealdex/ is not ignored");
  for (const name of ["key", ".gitignore"]) {
    const mode = statSync(join(home, name)).mode & 0o777;
    if (process.platform !== "win32" && mode !== 0o600)
      throw new Error(`.sealdex/${name}: others may read it`);
  }
  console.log("> sealdex ask: as expected");
}

async function serveAndAsk() {
  const port = "18431";
  const env = {
    ...process.env,
    SEALDEX_PORT: port,
    SEALDEX_API_KEYS: "secret-secret-secret",
    SEALDEX_INDEX_LOCATION: "memory:",
  };
  const program = join(command, "node_modules", "sealdex-server", "dist", "main.js");
  const service = spawn(process.execPath, [program, "serve"], {
    cwd: command,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    await untilOk(`http://127.0.0.1:${port}/v1/health`);
  } finally {
    service.kill();
    await new Promise((resolve) => service.once("exit", resolve));
  }
}
