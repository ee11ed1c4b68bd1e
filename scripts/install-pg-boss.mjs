/** Installs pg-boss for test/jobs/, beside the packages of `npm ci`, which have no package that asks for a newer Node than 20. */

import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const wanted = "pg-boss@12.38.0";
const cwd = dirname(dirname(fileURLToPath(import.meta.url)));

execFileSync("npm", ["install", "--no-save", "--loglevel=error", wanted], { cwd, stdio: "inherit" });
