// npm run bench -- chart
//
// Draws the charts of docs/pictures from the tables of bench/README.md, so that they show the numbers that are listed there.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { recallChart } from "./report.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const pictures = join(root, "docs", "pictures");

/** Each chart, the heading of its table, and its title. */
const charts = [
  ["recall-sentences.svg", "### Search among 60,000 sentences", "60,000 sentences (MiniLM)"],
  ["recall-images.svg", "### Search among 60,000 images", "60,000 images (MNIST)"],
];

/** The file name and the contents of each chart of a text. */
export function chartsOfResults(text) {
  return charts.map(([name, heading, title]) => [name, recallChart(title, linesBelow(text, heading))]);
}

/** The lines of the first table of settings below a heading. */
function linesBelow(text, heading) {
  const section = text.slice(text.indexOf(`${heading}\n`));
  const table = section.slice(section.indexOf("| engine | setting | recall@10 | queries/s | p50 (µs) |"));
  const lines = [];
  for (const row of table.slice(0, table.indexOf("\n\n")).split("\n").slice(2)) {
    const [name, , recall, , p50] = row
      .split("|")
      .slice(1)
      .map((cell) => cell.trim());
    const engine = name || lines.at(-1).engine;
    lines.push({ engine, recall: Number(recall), p50: Number(p50) });
  }
  return lines;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const text = readFileSync(join(root, "bench", "README.md"), "utf8");
  for (const [name, chart] of chartsOfResults(text)) writeFileSync(join(pictures, name), chart);
}
