// Leaves out a build whose inputs and outputs, all of their bytes, are those of the last one.

import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isMadeFrom, writeWhole } from "./inputs-digest.mjs";

/**
 * Whether it built. Inputs and outputs are files and folders in `root`; an output may be in a folder of inputs. The record of the last
 * build goes with the installed packages, which are inputs of it.
 */
export async function buildIfChanged({ root, inputs, outputs }, build) {
  const stateOf = (paths, without) => digestOf(root, paths, new Set(["node_modules", ...without]));
  const record = join(root, "node_modules", ".cache", "build.txt");
  const before = stateOf(inputs, outputs);
  const recorded = () => `${before.digest} ${stateOf(outputs, []).digest}\n`;
  if (isMadeFrom(recorded(), record)) return false;
  mkdirSync(dirname(record), { recursive: true });
  const own = randomUUID();
  writeWhole(record, own);
  await build();
  const after = stateOf(inputs, outputs);
  // A change in between may be in only some of the outputs, and so may the files of another build that ran meanwhile.
  const isAlone = after.digest === before.digest && after.changedAt === before.changedAt;
  if (isAlone && isMadeFrom(own, record)) writeWhole(record, recorded());
  return true;
}

/** SHA-256 of the names and bytes of files, and when the status of one last changed. Without files and folders of these names or paths. */
function digestOf(root, paths, without) {
  const hash = createHash("sha256");
  let changedAt = 0n;
  const add = (path) => {
    const stat = statSync(join(root, path), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return;
    if (stat.ctimeNs > changedAt && stat.isFile()) changedAt = stat.ctimeNs;
    if (stat.isDirectory()) {
      const entries = readdirSync(join(root, path)).sort();
      for (const name of entries)
        if (!without.has(name) && !without.has(`${path}/${name}`)) add(`${path}/${name}`);
    } else {
      const bytes = readFileSync(join(root, path));
      hash.update(JSON.stringify([path, bytes.length])).update(bytes);
    }
  };
  for (const path of paths) add(path);
  return { digest: hash.digest("hex"), changedAt };
}
