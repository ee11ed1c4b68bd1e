// node bench/langchain-ingest.mjs [documents]        (after npm run build; default 100,000)
//
// One call of addDocuments with everything, to an encrypted store on local disk, stopped half-way by an AbortSignal and
// taken up again where it was. Prints progress, and at the end wall time and peak memory as Markdown.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { EncryptedVectorStore, generateKey } from "sealdex";

const total = Number(process.argv[2] ?? 100_000);
const path = mkdtempSync(join(tmpdir(), "sealdex-bench-"));
const store = new EncryptedVectorStore("sealdex/lexical-512", {
  indexName: "bench",
  indexKey: generateKey(),
  indexLocation: { location: "local", path },
});
const documents = Array.from({ length: total }, (_, i) => ({
  pageContent: text(i),
  metadata: { i },
  id: `${i}`,
}));
const before = process.resourceUsage().maxRSS;

const started = performance.now();
const stop = new AbortController();
let stored = 0;
await store
  .addDocuments(documents, {
    signal: stop.signal,
    onProgress: (progress) => {
      stored = progress.stored;
      if (stored >= total / 2) stop.abort(new Error("half-way"));
    },
  })
  .catch((error) => console.error(`stopped ${error.message}: ${stored} stored`));
await store.addDocuments(documents.slice(stored), {
  onProgress: (progress) => {
    if (progress.stored % 10_000 === 0) console.error(`${stored + progress.stored} of ${total}`);
  },
});
const seconds = (performance.now() - started) / 1000;
const found = await store.getByIds([`${total - 1}`, "0"]);
if (found.length !== 2) throw new Error("documents are missing");
await store.close();
rmSync(path, { recursive: true });

const mebibytes = (kibibytes) => (kibibytes / 1024).toFixed(0);
console.log(`Node ${process.version}, ${cpus()[0].model}, ${cpus().length} cores\n`);
console.log("| documents | wall time (s) | documents/s | peak memory (MiB) | of it the documents (MiB) |");
console.log("|---:|---:|---:|---:|---:|");
const peak = process.resourceUsage().maxRSS;
const cells = [total, seconds.toFixed(1), (total / seconds).toFixed(0), mebibytes(peak), mebibytes(before)];
console.log(`| ${cells.join(" | ")} |`);

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
