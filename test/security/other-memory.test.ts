/**
 * Whoever can write to storage and holds the key of one index can seal any bytes under it. A process that opens it beside other indexes computes nothing of
 * their memory, whichever way it reads: bytes that no writer writes are corrupt.
 */

import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { createClient, generateKey, SealdexError } from "../../src/core.js";
import { ObjectSealer, objectKinds } from "../../src/crypto/sealed-object.js";
import type { EmbeddedClient, IndexConfigInput, VectorIndex } from "../../src/api/vector-index.js";
import { open, storeOf } from "./world.js";

const d = 16;
const rows = 40;
/** Numbers of the index that the attacker has no key of. */
const secrets = Array.from({ length: 64 }, (_, i) =>
  Array.from({ length: d }, (__, j) => 1000.5 + d * i + j),
);
const secret = new Set(secrets.flat());

let victim: EmbeddedClient;
let victimIndex: VectorIndex;

beforeAll(async () => {
  victim = createClient({ indexLocation: storeOf(new Map()), automaticTraining: false });
  const indexKey = generateKey();
  victimIndex = await victim.createIndex({ indexName: "victim", indexKey, indexConfig: { type: "ivfflat" } });
  await victimIndex.upsert(secrets.map((vector, i) => ({ id: `${i}`, vector })));
});
afterAll(() => victim.close());
afterEach(() => {
  vi.restoreAllMocks();
});

type Kind = keyof typeof objectKinds;
/** Other bytes for a block that is about to be sealed, or the same. */
type Change = (plaintext: Buffer, block: number) => Uint8Array;

/** Seals the attacker's bytes while `write` runs, in objects of a kind. */
async function sealing(kind: Kind, change: Change, write: () => Promise<unknown>): Promise<void> {
  const { sealPieces } = ObjectSealer.prototype;
  const spy = vi.spyOn(ObjectSealer.prototype, "sealPieces").mockImplementation(function (
    this: ObjectSealer,
    pieces,
  ) {
    const isOfKind = this.header[5] === objectKinds[kind];
    return sealPieces.call(this, isOfKind ? [change(Buffer.concat(pieces), this.blocks)] : pieces);
  });
  await write();
  spy.mockRestore();
}

/** Changes the codes of the rows, which follow their fingerprints. */
const inCodes =
  (change: (codes: Buffer) => Uint8Array): Change =>
  (plaintext, block) =>
    block === 0
      ? Buffer.concat([plaintext.subarray(0, 16 * rows), change(plaintext.subarray(16 * rows))])
      : plaintext;

/** Changes the footer, which begins with dimension and rows. */
const inFooter =
  (change: (footer: Buffer) => unknown): Change =>
  (plaintext) => {
    if (plaintext.length < 36 || plaintext.readUInt32LE(0) !== d || plaintext.readUInt32LE(4) !== rows)
      return plaintext;
    change(plaintext);
    return plaintext;
  };

const reference = (first: number) =>
  inCodes((codes) => {
    for (let row = 0; row < rows; row++) codes.writeUInt32LE((first + row) >>> 0, 4 * row);
    return codes;
  });

const ivf: IndexConfigInput = { type: "ivf" };
const ivfpq: IndexConfigInput = { type: "ivfpq", pqDim: 4, pqBits: 8 };
const flat: IndexConfigInput = { type: "ivfflat" };
const int8: IndexConfigInput = { type: "ivfflat", precision: "int8" };

/** Where the limits of the first depth begin in a model of one list: after seven words and the probe limit, the depths. */
const valuesAt = (model: Buffer) => 4 * (7 + model.readUInt32LE(12) + model.readUInt32LE(16));

const attacks: [string, IndexConfigInput, Kind, Change][] = [
  ["references ahead of the table", ivf, "segment", reference(1)],
  ["references behind the table", ivf, "segment", reference(2 ** 32 - 50_000)],
  ["references of ivfpq", ivfpq, "segment", reference(100_000)],
  ["rows without direction under a metric that has none", ivf, "segment", reference(2 ** 32 - 1)],
  ["codewords that there are not", ivfpq, "segment", inCodes((codes) => codes.fill(255, 12 * rows))],
  ["fewer codes than rows", flat, "segment", inCodes((codes) => codes.subarray(0, -4 * d))],
  ["no codes", flat, "segment", inCodes(() => new Uint8Array())],
  ["fewer scalar codes than rows", int8, "segment", inCodes((codes) => codes.subarray(0, -d))],
  ["fewer row codes than rows", ivf, "segment", inCodes((codes) => codes.subarray(0, -12))],
  ["more codes than rows", flat, "segment", inCodes((codes) => Buffer.concat([codes, codes]))],
  ["a smaller dimension", flat, "segment", inFooter((footer) => footer.writeUInt32LE(d / 2, 0))],
  ["a larger dimension", flat, "segment", inFooter((footer) => footer.writeUInt32LE(64 * d, 0))],
  ["a smaller dimension of codes", ivf, "segment", inFooter((footer) => footer.writeUInt32LE(1, 0))],
  // Of the only block: varint rows, varint sealed length of two bytes, list.
  ["a list that there is not", flat, "segment", inFooter((footer) => footer.writeUInt8(100, 39))],
  ["a list that there is not, of codes", ivf, "segment", inFooter((footer) => footer.writeUInt8(1, 39))],
  [
    "lists to probe without end",
    flat,
    "model",
    (model) => (model.writeFloatLE(1e9, valuesAt(model) + 4), model),
  ],
  ["a model without a dimension", ivf, "model", (model) => (model.writeUInt32LE(0, 4), model)],
];

/** All ways in which vectors and codes are read. */
const readings: Record<string, (index: VectorIndex) => Promise<unknown>> = {
  query: (index) => index.query({ queryVector: secrets[0], topK: 100, nProbes: 1 }),
  "exact query": (index) => index.query({ queryVector: secrets[0], topK: 100, greedy: true }),
  "filtered query": (index) =>
    index.query({ queryVector: secrets[0], topK: 100, filter: { g: { $lt: 30 } } }),
  queries: (index) => index.query({ queryVectors: [secrets[0], secrets[1]], topK: 100 }),
  vectors: (index) =>
    index.get(
      Array.from({ length: rows }, (_, i) => `new ${i}`),
      { include: ["vector"] },
    ),
  prefetch: (index) => index.prefetch(),
  compact: (index) => index.compact(),
  train: (index) => index.train({ nLists: 2 }),
};

/** The result of each way to read an index for which the attacker sealed some objects: `read`, or the code of its error. */
async function outcomesOf(
  indexConfig: IndexConfigInput,
  kind: Kind,
  change: Change,
): Promise<Record<string, string>> {
  const blobs = new Map<string, Uint8Array>();
  const indexKey = generateKey();
  const attacker = open({ blobs });
  const own = await attacker.createIndex({ indexName: "own", indexKey, indexConfig });
  const vector = (i: number) => Array.from({ length: d }, (__, j) => Math.sin(i * (j + 2)));
  const items = Array.from({ length: 64 }, (__, i) => ({ id: `${i}`, vector: vector(i) }));
  await own.upsert(items);
  const more = Array.from({ length: rows }, (__, i) => ({
    id: `new ${i}`,
    vector: vector(-i),
    metadata: { g: i },
  }));
  const steps: (() => Promise<unknown>)[] = [() => own.train({ nLists: 1 }), () => own.upsert(more)];
  // The last one seals the attacked object.
  if (kind === "model") steps.reverse();
  await steps[0]();
  await sealing(kind, change, steps[1]);
  await attacker.close();

  const outcomes: Record<string, string> = {};
  for (const [reading, read] of Object.entries(readings)) {
    await victimIndex.query({ queryVector: secrets[1], topK: 1 });
    const reader = open({ blobs: new Map(blobs) });
    try {
      const index = await reader.loadIndex({ indexName: "own", indexKey });
      const answer = JSON.stringify(await read(index));
      for (const number of answer?.match(/-?\d+(\.\d+)?(e[+-]?\d+)?/g) ?? []) {
        expect(secret.has(Number(number)), `${reading}: ${number}`).toBe(false);
      }
      outcomes[reading] = "read";
    } catch (error) {
      if (!(error instanceof SealdexError)) throw new Error(reading, { cause: error });
      outcomes[reading] = error.code;
    } finally {
      await reader.close();
    }
  }
  return outcomes;
}

test.each(attacks)("%s", async (_, indexConfig, kind, change) => {
  const outcomes = await outcomesOf(indexConfig, kind, change);
  expect(Object.values(outcomes).join()).not.toMatch(/internal|storage_unavailable/);
  expect(outcomes).toMatchObject({
    query: "corrupt",
    "exact query": "corrupt",
    queries: "corrupt",
    train: "corrupt",
  });
});

test.each([ivf, ivfpq, flat, int8])("correctly sealed objects are read: %o", async (indexConfig) => {
  const outcomes = await outcomesOf(indexConfig, "segment", (plaintext) => plaintext);
  const keepsVectors = indexConfig.type === "ivfflat";
  for (const [reading, outcome] of Object.entries(outcomes)) {
    expect(outcome, reading).toBe(reading === "vectors" && !keepsVectors ? "not_supported" : "read");
  }
});
