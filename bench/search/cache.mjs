// Arrays that take long to make, kept in a folder for temporary files: a run that draws the same finds them there.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = join(tmpdir(), "sealdex-bench-cache");
/** Of the sources that make the arrays: who changes them does not find the old ones. */
const version = ["datasets.mjs", "directions.mjs", "exact.mjs", "vector-files.mjs"]
  .reduce((hash, name) => hash.update(readFileSync(new URL(name, import.meta.url))), createHash("sha256"))
  .digest("hex")
  .slice(0, 12);

/** The arrays that `make` returns, Float32Array or Int32Array. */
export function cached(name, make) {
  const file = (part) => join(folder, `${name}-${version}-${part}`);
  try {
    const { types } = JSON.parse(readFileSync(file("index"), "utf8"));
    return types.map((type, part) => view(readFileSync(file(part)), type));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const arrays = make();
  mkdirSync(folder, { recursive: true });
  arrays.forEach((array, part) => store(file(part), array));
  store(file("index"), JSON.stringify({ types: arrays.map(({ constructor }) => constructor.name) }));
  return arrays;
}

/** Whole or not at all, also where two processes do it. */
function store(file, contents) {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, contents);
  renameSync(mine, file);
}

function view({ buffer, byteOffset, byteLength }, type) {
  const Type = type === "Int32Array" ? Int32Array : Float32Array;
  return new Type(buffer, byteOffset, byteLength / 4);
}
