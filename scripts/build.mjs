// Builds everything, unless nothing changed since: the kernels, the model, the library as ES modules, as their bundle and as CommonJS, the
// server and its dashboard.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { buildIfChanged } from "./build-if-changed.mjs";
import { writeSnowball } from "./build-snowball.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");

async function run(...args) {
  const [code] = await once(spawn(process.execPath, args, { cwd: root, stdio: "inherit" }), "exit");
  // What failed has said why.
  if (code !== 0) process.exit(1);
}

/** More than is read for it: what is new among them is an input, too. */
const inputs = [
  "src",
  "scripts",
  "packages/model",
  "packages/server",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  // What is installed.
  "node_modules/.package-lock.json",
];
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.values(exports).flatMap((entry) => entry.import?.default ?? []);
const folders = ["dist", "packages/model/dist", "packages/server/dist"];
const generated = [
  "src/engine/kernels/kernels.wasm.ts",
  "packages/model/src/add-rows.wasm.ts",
  "src/text/snowball.js",
];

await buildIfChanged({ root, inputs, outputs: [...folders, ...generated] }, async () => {
  await Promise.all([run("scripts/build-kernels.mjs"), run("scripts/build-model-kernel.mjs")]);
  writeSnowball(join(root, "src", "text", "snowball.js"), "esm");
  for (const folder of folders) {
    rmSync(join(root, folder), { recursive: true, force: true });
  }
  await run(tsc, "-p", "packages/model/tsconfig.json");
  await Promise.all([
    run("scripts/build-model-data.mjs"),
    run(tsc, "-p", "tsconfig.json"),
    run(tsc, "-p", "scripts/tsconfig.cjs.json"),
  ]);
  // Threads run a text: a bundle has no files next to it. As a script, since a text cannot be a module.
  const worker = (format) => join(root, "dist", format, "embedding", "inference-worker.js");
  const script = readFileSync(worker("esm"), "utf8")
    .replace(/^import \{(.*?)\} from (".*?");$/gm, "const {$1} = require($2);")
    .replace(/^export \{\};$/gm, "");
  if (/^(import|export)\b/m.test(script)) throw new Error("inference-worker.ts does not fit into a script");
  const workerText = `workerText = ${JSON.stringify(script)};\n`;
  writeFileSync(
    join(root, "dist", "esm", "embedding", "worker-text.js"),
    // Bundles in CommonJS have no import.meta.url.
    `export const ${workerText}export const ownPlace = () => (typeof __filename === "string" ? __filename : import.meta.url);\n`,
  );
  writeFileSync(
    join(root, "dist", "cjs", "embedding", "worker-text.js"),
    `exports.${workerText}exports.ownPlace = () => __filename;\n`,
  );
  for (const format of ["esm", "cjs"]) {
    for (const file of [worker(format), worker(format).replace(/js$/, "d.ts")]) rmSync(file);
  }
  writeSnowball(join(root, "dist", "esm", "text", "snowball.js"), "esm");
  writeSnowball(join(root, "dist", "cjs", "text", "snowball.js"), "cjs");
  await build({
    absWorkingDir: root,
    entryPoints: entries.map((entry) => entry.replace("/bundle/", "/esm/")),
    outbase: "dist/esm",
    outdir: "dist/bundle",
    bundle: true,
    // A class is the same in all entries: code that they share is in files of its own.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
  });
  writeFileSync(join(root, "dist", "cjs", "package.json"), '{ "type": "commonjs" }\n');
  await Promise.all([run(tsc, "-p", "packages/server/tsconfig.json"), run("scripts/build-dashboard.mjs")]);
});
