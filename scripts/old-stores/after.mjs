// Compares every item that was moved with the one in the old store.

import { deepStrictEqual } from "node:assert";
import { index } from "../new-index.mjs";
import { rowsOf, texts } from "./rows.mjs";

for (const store of Object.keys(texts)) {
  const rows = rowsOf(store);
  const found = await index.get(
    rows.map(({ id }) => id),
    { include: ["vector", "contents", "metadata"] },
  );
  deepStrictEqual(
    found.map(({ id, contents, metadata }) => ({ id, text: contents, metadata })),
    rows.map(({ id, text, metadata }) => ({ id, text, metadata })),
  );
  for (const [i, { vector }] of found.entries()) {
    const difference = Math.max(...rows[i].vector.map((x, j) => Math.abs(x - vector[j])));
    if (difference > 1e-6) throw new Error(`${store}: the vector of ${rows[i].id} differs by ${difference}`);
  }
}
const [{ contents }] = await index.get(["memory-1"], { include: ["contents"] });
deepStrictEqual(contents, "Herons hunt in rivers.");
console.log("every item as it was");
