// npm run bench -- ingest [texts …]
//
// Adds texts of 1 KB through LangChain with the built-in embedder to an encrypted store on local disk, and prints wall
// time, peak memory, and the times of a training and of a query of the trained index as Markdown. Each size runs in a
// process of its own, so that the peak is that size's.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EncryptedVectorStore, createClient, generateKey } from "sealdex";
import { folderBytes } from "./search/rows.mjs";

const queryCount = 200;
const sizes = process.argv.slice(2).map(Number);
if (process.env.SEALDEX_BENCH_TEXTS) await ingest(Number(process.env.SEALDEX_BENCH_TEXTS));
else report(sizes.length > 0 ? sizes : [2_500, 5_000, 10_000, 20_000, 40_000, 80_000]);

function report(counts) {
  const [{ model }] = cpus();
  console.log(`Ingest through LangChain: texts of 1 KB, sealdex/lexical-512, local disk`);
  console.log(
    `Node ${process.version}, ${model}, ${cpus().length} cores, ${(totalmem() / 2 ** 30).toFixed(0)} GiB\n`,
  );
  console.log(
    "| texts | wall time (s) | texts/s | peak memory (MiB) | on disk (MiB) | training (s) | query, trained (ms) |",
  );
  console.log("|---:|---:|---:|---:|---:|---:|---:|");
  for (const count of counts) {
    const env = { ...process.env, SEALDEX_BENCH_TEXTS: String(count) };
    process.stdout.write(execFileSync(process.execPath, [fileURLToPath(import.meta.url)], { env }));
  }
}

async function ingest(count) {
  const path = mkdtempSync(join(tmpdir(), "sealdex-bench-"));
  const access = { indexName: "bench", indexKey: generateKey() };
  const indexLocation = { location: "local", path };
  const open = () => new EncryptedVectorStore("sealdex/lexical-512", { ...access, indexLocation });
  const store = open();
  const started = performance.now();
  // Made as they are added: a corpus need not fit in memory.
  for (let first = 0; first < count; first += 1000) {
    await store.addTexts(Array.from({ length: Math.min(1000, count - first) }, (_, i) => text(first + i)));
  }
  const seconds = (performance.now() - started) / 1000;
  const peak = process.resourceUsage().maxRSS / 1024;
  await store.close();
  const mebibytes = folderBytes(path) / 2 ** 20;
  // Automatic training is behind the last rows, or stopped when the store closed.
  const client = createClient({ indexLocation });
  const index = await client.loadIndex(access);
  const before = performance.now();
  await index.train();
  const training = (performance.now() - before) / 1000;
  await client.close();
  const reopened = open();
  const ask = (i) => reopened.similaritySearch(text((i * 37) % count).slice(0, 60), 4);
  for (let i = 0; i < queryCount; i++) await ask(i);
  const times = [];
  for (let i = 0; i < queryCount; i++) {
    const asked = performance.now();
    await ask(i);
    times.push(performance.now() - asked);
  }
  times.sort((a, b) => a - b);
  await reopened.close();
  const cells = [
    count,
    seconds.toFixed(1),
    (count / seconds).toFixed(0),
    peak.toFixed(0),
    mebibytes.toFixed(0),
  ];
  console.log(`| ${[...cells, training.toFixed(1), times[queryCount / 2].toFixed(2)].join(" | ")} |`);
  rmSync(path, { recursive: true });
}

/** About 1 KB of words, different for each number. */
function text(number) {
  let state = number + 1;
  let words = "";
  while (words.length < 1024) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    words += `${(state >>> 8).toString(36).replace(/\d/g, "")}${(state >>> 12) % 97} `;
  }
  return words.slice(0, 1024);
}
