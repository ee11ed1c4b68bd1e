// The retrieval collections of SEALDEX_BENCH_DATA, with what is known of their documents, and nDCG@10 as trec_eval computes it.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export const data = process.env.SEALDEX_BENCH_DATA ?? "data";
const folder = join(data, "ir");

export function collections() {
  return JSON.parse(readFileSync(join(folder, "README.json"), "utf8")).collections.map(({ name }) =>
    readCollection(name),
  );
}

/** `gains`: of documents by their position. `queries`: those that have judgements. */
function readCollection(name) {
  const lines = (file) =>
    readFileSync(join(folder, name, file), "utf8")
      .trim()
      .split("\n");
  const documents = lines("corpus.jsonl").map((line) => JSON.parse(line));
  const texts = documents.map(({ title, text }) => (title ? `${title} ${text}` : text));
  const positions = new Map(documents.map(({ _id }, i) => [_id, i]));
  const judged = new Map();
  for (const line of lines("qrels.tsv").slice(1)) {
    const [query, document, gain] = line.split("\t");
    if (!judged.has(query)) judged.set(query, new Map());
    judged.get(query).set(positions.get(document), Number(gain));
  }
  const asked = lines("queries.jsonl").map((line, position) => ({ ...JSON.parse(line), position }));
  const queries = asked
    .filter(({ _id }) => judged.has(_id))
    .map(({ _id, text, position }) => ({ text, position, gains: judged.get(_id) }));
  return { name, texts, queries, allQueries: asked.map(({ text }) => text) };
}

/** nDCG@10 of a ranking of documents by their positions. */
export function ndcg(ranked, gains) {
  const ideal = discounted([...gains.values()].sort((a, b) => b - a));
  return discounted(ranked.map((document) => gains.get(document) ?? 0)) / ideal;
}

function discounted(gains) {
  return gains.slice(0, 10).reduce((sum, gain, i) => sum + gain / Math.log2(i + 2), 0);
}
