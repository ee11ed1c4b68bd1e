// What a generated file is made from, as a digest in it, so that it is made again only if that has changed.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";

/** SHA-256 of the sources in a folder, of the script that compiles them, and of the version of the compiler. */
export function inputsDigest(folder, script) {
  const hash = createHash("sha256");
  const compiler = createRequire(import.meta.url).resolve("assemblyscript/package.json");
  const sources = readdirSync(folder).sort();
  for (const path of [...sources.map((name) => join(folder, name)), script, compiler]) {
    const bytes = readFileSync(path);
    hash.update(`${basename(path)} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

/** Whether a generated file is there and names this digest. */
export function isMadeFrom(digest, target) {
  try {
    return readFileSync(target, "utf8").includes(digest);
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

/** A script that is interrupted leaves the target as it was. */
export function writeWhole(target, text) {
  const part = `${target}.${process.pid}.part`;
  writeFileSync(part, text);
  renameSync(part, target);
}
