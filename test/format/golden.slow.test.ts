/** Indexes that earlier versions stored: they open, answer and are written for ever. make-golden.mjs made them. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createClient, passphraseKey } from "../../src/core.js";
import { storeOf } from "../security/world.js";
import { readIndex } from "./reader.js";

const folder = join(dirname(fileURLToPath(import.meta.url)), "golden");

interface Golden {
  readonly indexName: string;
  readonly indexKey: string;
  readonly readerKey: string;
  readonly queryVector: readonly number[];
  readonly queryText?: string;
  readonly expected: {
    readonly ids: readonly string[];
    readonly matches: readonly {
      readonly id: string;
      readonly distance: number;
      readonly expiresAt?: string;
    }[];
    readonly filtered: readonly { readonly id: string }[];
    /** Ids in the namespace "ann". */
    readonly ann?: readonly string[];
    readonly words?: readonly { readonly id: string; readonly score: number }[];
  };
  readonly blobs: Readonly<Record<string, string>>;
  readonly anchors: Readonly<Record<string, string>>;
}

const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".json"),
);

function decode(stored: Golden["blobs"]): Map<string, Uint8Array> {
  return new Map(Object.entries(stored).map(([key, text]) => [key, Buffer.from(text, "base64")]));
}

test("there is an index of each type of each version of the format", () => {
  expect(files.toSorted()).toEqual(
    [
      "expiring",
      "ivf",
      "ivfflat-float16",
      "ivfflat-int8",
      "ivfflat",
      "ivfpq-4",
      "ivfpq-8",
      "namespaces",
      "words",
    ].map((type) => join("2", `${type}.json`)),
  );
});

describe.each(files)("%s", (file) => {
  const golden = JSON.parse(readFileSync(join(folder, file), "utf8")) as Golden;
  const { indexName, indexKey, readerKey, expected } = golden;
  const queryVector = [...golden.queryVector];

  function open(blobs: Map<string, Uint8Array>) {
    return createClient({
      indexLocation: storeOf(blobs),
      anchorLocation: storeOf(decode(golden.anchors)),
      automaticTraining: false,
    });
  }

  test.each([
    ["the owner's key", indexKey],
    ["a reader's key", readerKey],
    ["a passphrase", passphraseKey("golden indexes open for ever")],
  ])("opens with %s and answers as it did", async (_, key) => {
    const client = open(decode(golden.blobs));
    const index = await client.loadIndex({ indexName, indexKey: key });
    expect(await index.listIds()).toEqual(expected.ids);
    const found = await index.query({
      queryVector,
      topK: 5,
      nProbes: 4,
      include: ["distance", "contents", "metadata"],
    });
    const times = expected.matches.map(({ expiresAt }) => expiresAt && new Date(expiresAt));
    expect(found.map(({ distance: _d, ...rest }) => rest)).toEqual(
      expected.matches.map(({ distance: _d, expiresAt: _e, ...rest }, i) => ({
        ...rest,
        ...(times[i] && { expiresAt: times[i] }),
      })),
    );
    found.forEach(({ distance }, i) => expect(distance).toBeCloseTo(expected.matches[i].distance, 5));
    const filter = { "deep.odd": true };
    expect(await index.query({ queryVector, topK: 5, nProbes: 4, filter, include: [] })).toEqual(
      expected.filtered,
    );
    const { recallCurves = [], nLists } = await index.describe();
    for (const { points } of recallCurves) {
      const probes = points.map(({ nProbes }) => nProbes);
      expect(probes).toEqual(probes.toSorted((a, b) => a - b));
      for (const count of probes) expect(count >= 1 && count <= nLists).toBe(true);
    }
    expect(await index.listIds({ namespace: "ann" })).toEqual(expected.ann ?? []);
    expect(await index.listIds({ namespace: "bob" })).toEqual([]);
    if (expected.words !== undefined) {
      const byWords = await index.query({ queryText: golden.queryText ?? "", topK: 5 });
      expect(byWords.map(({ id }) => id)).toEqual(expected.words.map(({ id }) => id));
      byWords.forEach(({ score }, i) => expect(score).toBeCloseTo(expected.words?.[i].score ?? 0, 6));
    }
    await client.close();
  });

  test("is read by the reader of docs/internals/format.md", () => {
    const blobs = decode(golden.blobs);
    const keys = [...readIndex(blobs, blobs, indexName, indexKey).items.keys()];
    const ids = new Set(keys.map((key) => key.replace("ann/", "")));
    expect([...ids].sort()).toEqual(expected.ids);
    expect(keys.filter((key) => key.startsWith("ann/")).length).toBe(expected.ann?.length ?? 0);
  });

  test("is written, compacted and renewed", async () => {
    const client = open(decode(golden.blobs));
    const index = await client.loadIndex({ indexName, indexKey });
    await index.upsert([{ id: "new", vector: queryVector }]);
    await index.compact();
    await index.reencrypt();
    expect(await index.listIds()).toEqual([...expected.ids, "new"].sort());
    await client.close();
  });
});
