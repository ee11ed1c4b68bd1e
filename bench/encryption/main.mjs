// npm run bench -- encryption [rounds] [--data-set NAME | --base FILE --queries FILE [--metric M]]
//
// What encryption costs: 20,000 vectors with texts on local disk, built and searched by Sealdex and by a copy of it of which
// one module is replaced, so that nothing is encrypted, authenticated or padded. Processes of both take turns; medians
// of the rounds (5), as Markdown.

import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chosenDatasets, datasetOptions, storedDatasets } from "../search/datasets.mjs";
import { folderBytes } from "../search/rows.mjs";

const options = parseArgs({ options: datasetOptions, allowPositionals: true });
const rounds = Number(options.positionals[0] ?? 5);
const [dataSet] = chosenDatasets(options.values, [...storedDatasets(), "synthetic"]);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const encrypted = here("../../dist/esm");
// Inside the package, so that it finds what the package depends on.
const plain = here("../../dist/plain");

cpSync(encrypted, plain, { recursive: true });
copyFileSync(here("plain-object.mjs"), join(plain, "crypto", "sealed-object.js"));

const subjects = { encrypted, plain };
const measured = { build: {}, cold: {}, warm: {}, bytes: {} };
for (let round = 0; round < rounds; round++) {
  for (const [name, modules] of Object.entries(subjects)) {
    const path = mkdtempSync(join(tmpdir(), "sealdex-encryption-"));
    for (const what of ["build", "cold", "warm"]) {
      const value = execFileSync(process.execPath, [here("process.mjs"), modules, what, path, dataSet]);
      (measured[what][name] ??= []).push(Number(value));
    }
    (measured.bytes[name] ??= []).push(folderBytes(path));
    rmSync(path, { recursive: true });
  }
}
rmSync(plain, { recursive: true });

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const rows = {
  build: ["from the first upsert to trained (s)", 2],
  cold: ["open and first query, nothing in memory (ms)", 1],
  warm: ["query, all in memory (ms)", 4],
  bytes: ["stored bytes", 0],
};
console.log(
  `${dataSet}, 20,000 rows with texts, ivfflat, local disk; Node ${process.version}, ${cpus()[0].model}\n`,
);
console.log("| | encrypted | not encrypted | ratio |\n|---|---:|---:|---:|");
for (const [what, [title, digits]] of Object.entries(rows)) {
  const [sealed, bare] = [median(measured[what].encrypted), median(measured[what].plain)];
  // Rounds are pairs on a machine that is as busy for both: the ratio is the median of theirs.
  const ratio = median(measured[what].encrypted.map((value, i) => value / measured[what].plain[i]));
  console.log(`| ${title} | ${sealed.toFixed(digits)} | ${bare.toFixed(digits)} | ${ratio.toFixed(2)} |`);
}
