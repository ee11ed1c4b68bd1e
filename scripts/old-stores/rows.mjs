// The items that each old store of docs/migrating.md holds before the move.

import { readFileSync } from "node:fs";

export const texts = {
  hnswlib: ["Keys are rotated every year.", "Salmon swim upstream."],
  faiss: ["The library opens at nine.", "Rye bread needs sourdough."],
  chroma: ["Trains to Oslo leave at noon.", "The violin has four strings."],
  pgvector: ["Glaciers carve valleys.", "Invoices are due in March."],
  pinecone: ["Owls hunt at night.", "The bridge is closed for repairs."],
  cyborgdb: ["Cheese ripens in caves.", "The printer is out of paper."],
  jsonl: ["Comets have two tails.", "The marathon starts at eight."],
};

const isUuid = new Set(["faiss", "pgvector"]);

/** LangChain's FAISS and PostgreSQL stores make UUIDs. The others have ids of their own. */
export function idOf(store, i) {
  return isUuid.has(store)
    ? `00000000-0000-4000-8000-${store === "faiss" ? "a" : "b"}0000000000${i + 1}`
    : `${store}-${i}`;
}

/** The rows of one store, with the vectors that before.mjs made. */
export function rowsOf(store) {
  return JSON.parse(readFileSync("rows.json", "utf8"))[store];
}
