// Texts that are ranked by words: the largest that are allowed, and those that are meant to hold the service up.

import { alsoAtOnce, lexicon, query, range, text, upsert } from "./data.mjs";

const asked = (query_text, more = {}) => ({ ...lexicon, query_text, ...more });
const lengthMax = 65_536;

export const words = [
  {
    name: "words: 20 texts of 1 MB, indexed",
    path: upsert,
    body: () => ({
      ...lexicon,
      items: range(20, (i) => ({ id: `l${i}`, vector: [i, 0], contents: text(1_000_000, i + 1) })),
    }),
    status: 200,
  },
  {
    name: "words: 20 texts of 1 MB without blanks, indexed",
    path: upsert,
    body: () => ({
      ...lexicon,
      items: range(20, (i) => ({ id: `u${i}`, vector: [i, 0], contents: "語".repeat(330_000) })),
    }),
    status: 200,
  },
  {
    name: "words: 20 texts of 1 MB of one word, indexed",
    path: upsert,
    body: () => ({
      ...lexicon,
      items: range(20, (i) => ({ id: `o${i}`, vector: [i, 0], contents: "common ".repeat(140_000) })),
    }),
    status: 200,
  },
  ...alsoAtOnce(40, {
    name: "words: the longest query",
    path: query,
    body: asked(
      range(9_000, (i) => `word${i % 997}`)
        .join(" ")
        .slice(0, lengthMax),
    ),
    status: 200,
  }),
  {
    name: "words: highlights in texts of 1 MB",
    path: query,
    body: asked("common w1 w2 w3", { include: ["highlights"], top_k: 60 }),
    status: 200,
  },
  {
    name: "words: a phrase in texts of 1 MB",
    path: query,
    body: asked('"common common common"', { include: ["highlights"], top_k: 60 }),
    status: 200,
  },
  {
    name: "words: 16 prefixes of one letter",
    path: query,
    body: asked(range(16, (i) => `${"wcabdefghijklmno"[i]}*`).join(" "), { top_k: 1000 }),
    status: 200,
  },
  {
    name: "words: the longest query of opening quotes",
    path: query,
    body: asked('"'.repeat(lengthMax)),
    status: 200,
  },
  {
    name: "words: the longest query of required words",
    path: query,
    body: asked("+w ".repeat(lengthMax / 3)),
    status: 200,
  },
  {
    name: "words: the longest query of one unspaced text",
    path: query,
    body: asked("語".repeat(lengthMax)),
    status: 200,
  },
  {
    name: "words: with a vector, top_k 1,000",
    path: query,
    body: asked("common word1", { query_vectors: [1, 1], top_k: 1000 }),
    status: 200,
  },
];
