// Builds everything: the kernels, the model, the library as ES modules and as CommonJS, the server.

import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeSnowball } from "./build-snowball.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");

function run(...args) {
  execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" });
}

run("scripts/build-kernels.mjs");
run("scripts/build-model-kernel.mjs");
writeSnowball(join(root, "src", "text", "snowball.js"), "esm");
for (const folder of ["dist", "model/dist", "server/dist"]) {
  rmSync(join(root, folder), { recursive: true, force: true });
}
run(tsc, "-p", "model/tsconfig.json");
run(tsc, "-p", "tsconfig.json");
run(tsc, "-p", "tsconfig.cjs.json");
// Threads run the ES module, from either build.
writeFileSync(
  join(root, "dist", "esm", "embedding", "worker-url.js"),
  // Computed when it is needed: a bundle in CommonJS has no import.meta.url.
  'export const workerUrl = () => new URL("./inference-worker.js", import.meta.url);\n',
);
writeFileSync(
  join(root, "dist", "cjs", "embedding", "worker-url.js"),
  `const worker = require("node:path").join(__dirname, "../../esm/embedding/inference-worker.js");
exports.workerUrl = () => require("node:url").pathToFileURL(worker);
`,
);
writeSnowball(join(root, "dist", "esm", "text", "snowball.js"), "esm");
writeSnowball(join(root, "dist", "cjs", "text", "snowball.js"), "cjs");
writeFileSync(join(root, "dist", "cjs", "package.json"), '{ "type": "commonjs" }\n');
run(tsc, "-p", "server/tsconfig.json");
