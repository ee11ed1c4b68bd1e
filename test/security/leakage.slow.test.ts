/** No data or key of a caller can be read from the stored bytes, or from printed objects. */

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { deflateRawSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, EncryptedVectorStore, generateKey, LexicalEmbeddings } from "../../src/index.js";
import { clustered } from "../engine/data.js";

const indexKey = generateKey();
const d = 32;
const vectors = clustered(400, d, 10, 77);
const items = Array.from({ length: 400 }, (_, i) => ({
  id: `canary-id-${i}-zanzibar`,
  vector: vectors.slice(i * d, (i + 1) * d),
  contents: `Canary contents ${i}: the quartz heron nests above the weir.`,
  metadata: { canaryField: `canary value ${i} obsidian`, list: [i, "canary element turmeric"] },
}));
const definition = { type: "ivfflat", dimension: d, nLists: 12 } as const;

let folder: string;
/** Every stored file, with its name. */
let stored: { name: string; bytes: Buffer }[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sealdex-leakage-"));
  const client = createClient({ indexLocation: { location: "local", path: folder } });
  const index = await client.createIndex({
    indexName: "leakage",
    indexKey,
    indexConfig: definition,
    metric: "cosine",
    textIndex: true,
  });
  await index.upsert(items.slice(0, 300));
  await index.train();
  await index.upsert(items.slice(300));
  await index.delete({ ids: [items[3].id] });
  await client.close();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  stored = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const name = join(entry.parentPath, entry.name);
        return { name, bytes: await readFile(name) };
      }),
  );
});

afterAll(() => rm(folder, { recursive: true }));

/** The forms in which plaintext could show: as it is, hexadecimal, base64 at each alignment, UTF-16. */
function forms(plaintext: Buffer): Buffer[] {
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), plaintext]).toString("base64");
    return text.slice(shift === 0 ? 0 : 4, text.length - 4);
  });
  const hex = plaintext.toString("hex");
  return [
    plaintext,
    ...[hex, hex.toUpperCase(), ...base64].map((text) => Buffer.from(text)),
    Buffer.from(plaintext.toString("latin1"), "utf16le"),
    // Four bytes are found by chance: in a megabyte of random ones once in 4,000 times.
  ].filter((form) => form.length >= 8);
}

function found(plaintexts: readonly Buffer[]): string[] {
  const haystack = Buffer.concat(stored.flatMap(({ name, bytes }) => [Buffer.from(name), bytes]));
  return plaintexts.flatMap((plaintext) =>
    forms(plaintext).some((form) => haystack.includes(form)) ? [plaintext.toString("latin1")] : [],
  );
}

test("the scan finds plaintext", () => {
  const original = stored;
  stored = [
    ...original,
    { name: "plain", bytes: Buffer.from(Buffer.from("a canary sings").toString("base64")) },
  ];
  expect(found([Buffer.from("a canary sings")])).toHaveLength(1);
  stored = [...original, { name: "plain", bytes: Buffer.from(vectors.buffer) }];
  expect(found([Buffer.from(vectors.buffer, 40 * d, 16)])).toHaveLength(1);
  stored = original;
});

test("no id, text, metadata key or value is among the stored bytes", () => {
  const words = ["canary", "zanzibar", "quartz heron", "canaryField", "obsidian", "turmeric"];
  const ids = items.slice(0, 40).map(({ id }) => id);
  expect(found([...words, ...ids].map((text) => Buffer.from(text)))).toEqual([]);
});

test("no term, stem or list of postings is among the stored bytes", () => {
  const terms = ["contents", "canari", "quartz", "heron", "nest", "weir"];
  // Rows that follow each other, each with the term once.
  expect(found([...terms.map((term) => Buffer.from(term)), Buffer.alloc(16, 3)])).toEqual([]);
});

test("no vector, centroid or pair of numbers of a vector is among the stored bytes", () => {
  const pairs: Buffer[] = [];
  for (let row = 0; row < 400; row += 4) {
    const bytes = Buffer.from(vectors.buffer, row * d * 4, 8);
    pairs.push(bytes, Buffer.from(bytes).swap32());
  }
  expect(found(pairs)).toEqual([]);
});

test("no word of the index's definition and no key is among the stored bytes", () => {
  const words = ["ivfflat", "cosine", "dimension", "nLists", "segments", indexKey.slice(0, 16)];
  expect(
    found([...words.map((text) => Buffer.from(text)), Buffer.from(indexKey, "hex").subarray(0, 8)]),
  ).toEqual([]);
});

test("stored objects look random: they do not compress, and no 16 bytes come twice", () => {
  const seen = new Map<string, string>();
  for (const { name, bytes } of stored) {
    const body = bytes.subarray(12);
    if (body.length > 4096) expect(deflateRawSync(body).length / body.length).toBeGreaterThan(0.999);
    // The index id stands in the record in clear, and there only. So do the zeros of a wrap without a key provider.
    for (let at = 0; at + 16 <= body.length; at += 16) {
      const block = body.subarray(at, at + 16).toString("hex");
      if (name.includes("/names/") && /^0+$/.test(block)) continue;
      expect(seen.get(block), `${name} at ${at}`).toBeUndefined();
      seen.set(block, name);
    }
  }
});

test("clients, indexes and stores show no key to inspect, JSON or LangChain's serialisation", async () => {
  const apiKey = "canary-api-key-0123456789";
  await using client = createClient({ indexLocation: { location: "local", path: folder } });
  const index = await client.loadIndex({ indexName: "leakage", indexKey });
  const shared = { indexName: "leakage", indexKey };
  const stores = [
    new EncryptedVectorStore(new LexicalEmbeddings(), { ...shared, client }),
    new EncryptedVectorStore(new LexicalEmbeddings(), { ...shared, indexLocation: { location: "memory" } }),
    new EncryptedVectorStore(new LexicalEmbeddings(), { ...shared, baseUrl: "http://127.0.0.1:9", apiKey }),
  ];
  const http = createClient({ baseUrl: "http://127.0.0.1:9", apiKey });
  const printed = [client, index, http, ...stores, ...stores.map((store) => store.asRetriever())].flatMap(
    (object) => [
      inspect(object, { depth: 12, showHidden: true, getters: true }),
      JSON.stringify(object),
      String(object),
    ],
  );
  printed.push(...stores.map((store) => JSON.stringify(store.lc_kwargs)));
  const secrets = [indexKey, indexKey.slice(8, 40), Buffer.from(indexKey, "hex").toString("base64"), apiKey];
  for (const text of printed) for (const secret of secrets) expect(text).not.toContain(secret);
});

test("errors repeat neither keys nor items", async () => {
  await using client = createClient({ indexLocation: { location: "local", path: folder } });
  const index = await client.loadIndex({ indexName: "leakage", indexKey });
  const secret = "canary secret saffron";
  const attempts = [
    client.loadIndex({ indexName: "leakage", indexKey: generateKey().slice(0, 60) + "zzzz" }),
    index.upsert([{ id: "x", vector: [1, 2], contents: secret, metadata: { secret } }]),
    index.upsert([{ id: "x", vector: Array.from({ length: d }, () => secret as never), contents: secret }]),
    index.upsert([{ id: secret.repeat(50), vector: [1] }]),
    index.query({ queryVector: [1], filters: { secret: { $where: secret } } as never }),
  ];
  for (const attempt of await Promise.allSettled(attempts)) {
    expect(attempt.status).toBe("rejected");
    expect(inspect((attempt as PromiseRejectedResult).reason, { depth: 9 })).not.toMatch(/saffron|zzzz/);
  }
});
