/** Questions over this project's own documents, asked in other words than the documents': what the models find. */

import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { passagesOf } from "../../examples/ask/passages.mjs";
import { Models } from "../../src/embedding/models.js";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Each with the files that answer it. */
const questions: readonly (readonly [string, ...string[]])[] = [
  ["Does the program phone home?", "README.md"],
  [
    "Can two programs write at the same moment without losing anything?",
    "docs/internals/architecture.md",
    "docs/operations.md",
  ],
  ["How do I move my data to another machine?", "docs/operations.md"],
  ["What do I do when the password leaks?", "docs/operations.md", "docs/security.md"],
  ["How can I make lookups faster once there are many documents?", "docs/training.md"],
  ["Where can I rent a cloud bucket to hold it?", "docs/storage.md"],
  ["How do I write my own backend for keeping blobs?", "docs/storage-drivers.md"],
  ["How do I plug this into a chatbot framework?", "docs/langchain.md"],
  ["Which languages does the bundled encoder understand?", "docs/embeddings.md"],
  ["How big is the file of token weights?", "docs/embeddings.md"],
  ["What numbers should I expect when measuring throughput?", "bench/README.md"],
  ["How do I run the daemon on a port?", "packages/server/README.md"],
  ["What must I install to run the checks before sending a patch?", "CONTRIBUTING.md"],
  ["How are the bytes on disk laid out?", "docs/internals/format.md"],
  ["How much RAM does it consume?", "docs/operations.md"],
  ["How do I throw away old garbage left by crashed programs?", "docs/operations.md", "docs/storage.md"],
  ["Which folder of source code may depend on which other one?", "docs/internals/architecture.md"],
  ["How do I remove a document?", "docs/langchain.md"],
  ["Can I narrow down hits by year or author?", "docs/langchain.md"],
  ["How do I save a duplicate in case of disaster?", "docs/operations.md"],
];

async function hitsAt3(model: string): Promise<number> {
  const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  const top = [
    "README.md",
    "docs/internals/architecture.md",
    "docs/internals/format.md",
    "CONTRIBUTING.md",
    "packages/server/README.md",
    "bench/README.md",
  ];
  const files = [...top, ...docs.map((name) => `docs/${name}`)];
  const passages = (await Promise.all(files.map((file) => passagesOf(join(root, file), root)))).flat();
  const embedder = new Models().embedder(model, "embedding model");
  const vectors = await embedder.embedDocuments(passages.map(({ pageContent }) => pageContent));
  let hits = 0;
  for (const [question, ...answers] of questions) {
    const query = await embedder.embedQuery(question);
    const scores = vectors.map((vector) => Array.from(vector).reduce((sum, x, i) => sum + x * query[i], 0));
    const best = [...scores.keys()].sort((a, b) => scores[b] - scores[a]).slice(0, 3);
    if (best.some((i) => answers.includes(passages[i].metadata.source))) hits++;
  }
  return hits;
}

test("of 20 questions the default model answers more than wording alone does", async () => {
  const [wording, meaning] = [await hitsAt3("sealdex/lexical-512"), await hitsAt3("default")];
  expect(meaning).toBeGreaterThan(wording);
  expect(meaning).toBeGreaterThanOrEqual(12);
});
