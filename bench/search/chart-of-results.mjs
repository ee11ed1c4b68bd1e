// npm run bench -- chart
//
// Draws docs/pictures/recall.svg from the table "Search among 60,000 images" of bench/README.md, so that the picture
// of the README shows the numbers that are listed there.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { recallChart } from "./report.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The chart of the table in a text. */
export function chartOfResults(text) {
  const table = text.slice(text.indexOf("| engine | setting | recall@10 | queries/s |"));
  const rows = table.slice(0, table.indexOf("\n\n")).split("\n").slice(2);
  const lines = [];
  for (const row of rows) {
    const [name, , recall, rate] = row
      .split("|")
      .slice(1)
      .map((cell) => cell.trim());
    const engine = name || lines.at(-1).engine;
    lines.push({ engine, recall: Number(recall), queriesPerSecond: Number(rate) });
  }
  return recallChart("60,000 images (MNIST)", lines);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const text = readFileSync(join(root, "bench", "README.md"), "utf8");
  writeFileSync(join(root, "docs", "pictures", "recall.svg"), chartOfResults(text));
}
