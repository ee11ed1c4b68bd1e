// Makes the golden indexes of test/format/golden/, which golden.slow.test.ts opens for ever: `node test/format/make-golden.mjs` after a
// build. Existing ones are never made again, from the first release on; until then delete them when the stored format changes.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, passphraseKey } from "../../dist/esm/core.js";

const folder = join(dirname(fileURLToPath(import.meta.url)), "golden", "2");

/** Not a secret: these indexes are examples. */
const indexKey = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210";
const readerKey = "ff".repeat(32);

const types = {
  ivfflat: { type: "ivfflat" },
  "ivfflat-float16": { type: "ivfflat", precision: "float16" },
  "ivfflat-int8": { type: "ivfflat", precision: "int8" },
  ivf: { type: "ivf" },
  "ivfpq-4": { type: "ivfpq", pqDim: 4, pqBits: 4 },
  "ivfpq-8": { type: "ivfpq", pqDim: 4, pqBits: 8 },
};

const items = Array.from({ length: 60 }, (_, i) => ({
  id: `item ${i}`,
  vector: Array.from({ length: 8 }, (__, j) => Math.fround(Math.sin(i * (j + 1)))),
  ...(i % 3 === 0 && { contents: `text ${i}` }),
  metadata: { shelf: i % 4, deep: { odd: i % 2 === 1 }, tags: [`t${i % 5}`] },
}));

/** In 2096. */
const expiresAt = 4_000_000_000_000;

const textIndexes = {
  words: { analyzer: { language: "english" }, textFields: { contents: 1, "deep.note": 2 } },
};

const queryText = "texts 30 or 33";

const namespaced = "namespaces";

for (const name of [...Object.keys(types), ...Object.keys(textIndexes), namespaced, "expiring"]) {
  const indexConfig = types[name] ?? types.ivfflat;
  const textIndex = textIndexes[name] ?? false;
  const file = join(folder, `${name}.json`);
  if (existsSync(file)) continue;
  const blobs = new Map();
  const anchors = new Map();
  const client = createClient({
    indexLocation: storeOf(blobs),
    anchorLocation: storeOf(anchors),
    automaticTraining: false,
  });
  const index = await client.createIndex({
    indexName: name,
    indexKey,
    indexConfig,
    metric: "cosine",
    textIndex,
  });
  const expiring = (item, i) => (i % 3 === 0 ? { ...item, expiresAt: expiresAt - 1000 * (i % 7) } : item);
  const own = name === "expiring" ? items.map(expiring) : items;
  await index.upsert(own.slice(0, 50));
  await index.train({ nLists: 4 });
  await index.wraps.add({ name: "reader", key: readerKey, access: "read-only" });
  const key = passphraseKey("golden indexes open for ever");
  await index.wraps.add({ name: "passphrase", key, access: "read-only" });
  await index.rotateKey(indexKey.toUpperCase());
  await index.upsert(own.slice(50));
  await index.delete({ ids: ["item 1"] });
  if (name === namespaced) {
    for (const namespace of ["ann", "bob"]) await index.upsert(items.slice(0, 5), { namespace });
    await index.delete({ ids: ["item 2"] }, { namespace: "ann" });
    await index.erase("bob");
  }
  const queryVector = Array.from({ length: 8 }, (_, j) => j + 1);
  const expected = {
    ids: await index.listIds(),
    matches: await index.query({
      queryVector,
      topK: 5,
      nProbes: 4,
      include: ["distance", "contents", "metadata"],
    }),
    filtered: await index.query({
      queryVector,
      topK: 5,
      nProbes: 4,
      filter: { "deep.odd": true },
      include: [],
    }),
    ...(name === namespaced && { ann: await index.listIds({ namespace: "ann" }) }),
    ...(textIndex && { words: await index.query({ queryText, topK: 5 }) }),
  };
  await client.close();
  const encode = (stored) =>
    Object.fromEntries([...stored].map(([k, bytes]) => [k, Buffer.from(bytes).toString("base64")]));
  const golden = {
    indexName: name,
    indexKey,
    readerKey,
    queryVector,
    queryText,
    expected,
    blobs: encode(blobs),
    anchors: encode(anchors),
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(golden, null, 1)}\n`);
}

function storeOf(blobs) {
  return {
    read: async (key, range) => {
      const bytes = blobs.get(key);
      if (bytes === undefined) return null;
      return range === undefined ? bytes : bytes.subarray(range.offset, range.offset + range.length);
    },
    create: async (key, bytes) => !blobs.has(key) && blobs.set(key, Uint8Array.from(bytes)) !== undefined,
    list: async (prefix, { after = "", limit = Infinity } = {}) =>
      [...blobs.keys()]
        .filter((key) => key.startsWith(prefix) && key > after)
        .sort()
        .slice(0, limit),
    delete: async (keys) => {
      for (const key of keys) blobs.delete(key);
    },
    close: async () => {},
  };
}
