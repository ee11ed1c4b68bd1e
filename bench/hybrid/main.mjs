// npm run bench -- hybrid [model …]
//
// Prints nDCG@10 of words, of vectors, and of the methods of fusion on the eight test collections in the folder `ir` of
// SEALDEX_BENCH_DATA, as Markdown: words by BM25 over the analyzer's terms, vectors by exact search, 100 candidates of each.
// Models: names of embedding models, default the two that are built in; `lsa` for the vectors in the folder `ir-lsa256`.
// Vectors are kept in the folder SEALDEX_BENCH_VECTORS, if it is set. Models that are not built in are looked for in the folder
// `models` of SEALDEX_BENCH_DATA.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SealdexEmbeddings } from "sealdex";
import { createAnalyzer } from "../../dist/esm/text/analyzer.js";
import { defineText } from "../../dist/esm/text/define-text.js";
import { documentTerms } from "../../dist/esm/text/document-terms.js";
import { fuse } from "../../dist/esm/text/fusion.js";
import { parseTextQuery } from "../../dist/esm/text/text-query.js";
import { collections, data, ndcg } from "../collections.mjs";
import { best, bm25, cosines } from "./sides.mjs";

const candidates = 100;
const kept = process.env.SEALDEX_BENCH_VECTORS;
const given = process.argv.slice(2);
const models = given.length > 0 ? given : ["sealdex/semantic-1024", "sealdex/lexical-512", "lsa"];
const all = collections();
const { analyzer: rules, k1, b } = defineText({});

const wordsOf = new Map(
  all.map(({ name, texts, queries }) => {
    const analyzer = createAnalyzer(rules);
    const score = bm25(texts, {
      analyze: (text) => countTerms(analyzer, text),
      queryTerms: (text) => parseTextQuery(text, analyzer).terms,
      k1,
      b,
    });
    return [name, queries.map(({ text }) => best(score(text), candidates, 0))];
  }),
);

const head = ["vectors", "method", ...all.map(({ name }) => name), "mean"];
console.log(`| ${head.join(" | ")} |\n|---|---|${"---:|".repeat(head.length - 2)}`);
print("-", "BM25", ({ words }) => words);
for (const model of models) {
  const vectorsOf = new Map();
  for (const collection of all) vectorsOf.set(collection.name, await vectorRankings(model, collection));
  const kind = model === "lsa" || /lexical/.test(model) ? "unknown" : "meaning";
  const fused = (fusion) => (sides) => {
    const rows = fuse(sides.words, sides.vectors, fusion, kind).map(({ row }) => row);
    return { rows };
  };
  print(model, "vectors alone", ({ vectors }) => vectors, vectorsOf);
  print(model, "rank", fused({ method: "rank" }), vectorsOf);
  print(model, "scores", fused({ method: "scores" }), vectorsOf);
  print(model, "automatic", fused({ method: "automatic" }), vectorsOf);
}

function print(model, method, rank, vectorsOf) {
  const scores = all.map(({ name, queries }) => {
    const gains = queries.map((query, i) => {
      const sides = { words: wordsOf.get(name)[i], vectors: vectorsOf?.get(name)[i] };
      return ndcg(rank(sides).rows, query.gains);
    });
    return gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
  });
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const cells = [...scores, mean].map((score) => score.toFixed(4).slice(1));
  console.log(`| ${[model, method, ...cells].join(" | ")} |`);
}

async function vectorRankings(model, collection) {
  const { documents, queries } = await (model === "lsa"
    ? lsaVectors(collection)
    : embedded(model, collection));
  const dimension = documents.length / collection.texts.length;
  return collection.queries.map(({ position }) =>
    best(cosines(documents, queries.subarray(position * dimension, (position + 1) * dimension)), candidates),
  );
}

function lsaVectors({ name }) {
  const folder = join(data, "ir-lsa256");
  const { dim, collections: parts } = JSON.parse(readFileSync(join(folder, "header.json"), "utf8"));
  const part = parts.find((each) => each.name === name);
  const rows = (file, from, count) => floats(join(folder, file)).subarray(from * dim, (from + count) * dim);
  return {
    documents: rows("docs.f32", part.doc_offset, part.docs),
    queries: rows("queries.f32", part.query_offset, part.queries),
  };
}

async function embedded(model, { name, texts, allQueries }) {
  const embeddings = new SealdexEmbeddings({ model, localFolder: join(data, "models") });
  const file = (what) => kept && join(kept, `${model.replaceAll("/", "_")}-${name}-${what}.f32`);
  const vectors = async (what, embed) => {
    const path = file(what);
    if (path !== undefined && existsSync(path)) return floats(path);
    const rows = Float32Array.from((await embed()).flatMap((vector) => [...vector]));
    if (path !== undefined) {
      mkdirSync(kept, { recursive: true });
      writeFileSync(path, new Uint8Array(rows.buffer));
    }
    return rows;
  };
  return {
    documents: await vectors("d", () => embeddings.embedDocuments(texts)),
    queries: await vectors("q", async () => {
      const found = [];
      for (const text of allQueries) found.push(await embeddings.embedQuery(text));
      return found;
    }),
  };
}

function floats(file) {
  const bytes = readFileSync(file);
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

/** The terms of a text, how often it has each of them, and its length. */
function countTerms(analyzer, text) {
  const { vocabulary } = analyzer;
  const counts = new Map();
  const sink = {
    add(number) {
      const term = vocabulary.text(number);
      counts.set(term, (counts.get(term) ?? 0) + 1);
    },
  };
  const length = finish(documentTerms(analyzer, vocabulary, [{ text, weight: 1 }], sink));
  return { terms: [...counts.keys()], frequencies: [...counts.values()], length };
}

function finish(work) {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
