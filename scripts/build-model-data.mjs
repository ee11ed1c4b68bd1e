// Writes the vocabulary and the table of sealdex-model as JavaScript, packages/model/dist/parts/: a bundle takes no other files along, and
// what is read in parts does not hold the event loop.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const tokensTogether = 2048;
const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), "packages", "model");
const pieces = readFileSync(join(folder, "data", "vocab.txt"), "utf8").split("\n");

// A safetensors file: the length of a header, the header, tensors.
const file = readFileSync(join(folder, "data", "model_int4.safetensors"));
const headerEnd = 8 + Number(file.readBigUInt64LE(0));
const { table4, scale } = JSON.parse(file.toString("utf8", 8, headerEnd));
const [tokens, rowBytes] = table4.shape;
const bytesOf = ({ data_offsets: [start, end] }) => file.subarray(headerEnd + start, headerEnd + end);

const names = [];
mkdirSync(join(folder, "dist", "parts"), { recursive: true });
for (let start = 0; start < tokens; start += tokensTogether) {
  const end = Math.min(tokens, start + tokensTogether);
  const part = {
    pieces: pieces.slice(start, end).join("\n"),
    scales: bytesOf(scale).toString("base64", 2 * start, 2 * end),
    rows: bytesOf(table4).toString("base64", rowBytes * start, rowBytes * end),
  };
  const name = `./parts/${names.length}.js`;
  names.push(name);
  writeFileSync(join(folder, "dist", name), `module.exports = ${JSON.stringify(part)};\n`);
}
writeFileSync(
  join(folder, "dist", "packed-data.js"),
  `exports.tokenCount = ${tokens};\nexports.parts = [\n${names.map((name) => `  () => require("${name}"),\n`).join("")}];\n`,
);
