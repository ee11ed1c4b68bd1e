/** Queries by words: BM25 over whatever is live, however it came to be stored. */

import { describe, expect, test } from "vitest";
import { createClient, type EmbeddedClient, generateKey, type VectorIndex } from "../../src/core.js";
import type { TextIndexOptions } from "../../src/api/vector-index.js";
import { seededRandom } from "../../src/engine/random.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { repeats } from "../tier.js";
import { bruteForceBm25 } from "./brute-force-bm25.js";

const dimension = 4;
/** Words that analysis leaves as they are, the first ones frequent. */
const vocabulary = Array.from({ length: 400 }, (_, i) => `w${i}x`);
const histories = repeats("SEALDEX_WORD_HISTORIES", { fast: 3, all: 10 });

function open(store: BlobStore): EmbeddedClient {
  return createClient({ indexLocation: store, automaticTraining: false });
}

async function newIndex(textIndex: TextIndexOptions | boolean = true) {
  const store = createMemoryStore();
  const client = open(store);
  const options = { indexName: "words", indexKey: generateKey() };
  return { store, options, index: await client.createIndex({ ...options, textIndex }) };
}

async function expectLikeBruteForce(
  index: VectorIndex,
  texts: ReadonlyMap<string, readonly string[]>,
  query: readonly string[],
  topK: number,
): Promise<void> {
  const expected = bruteForceBm25(texts, query);
  const scoreOf = new Map(expected.map(({ id, score }) => [id, score]));
  const found = await index.query({ queryText: query.join(" "), topK });
  expect(found.length).toBe(Math.min(topK, expected.length));
  found.forEach(({ id, score }, i) => {
    expect(score).toBeCloseTo(expected[i].score, 8);
    expect(score).toBeCloseTo(scoreOf.get(id) ?? -1, 8);
  });
}

const ids = (matches: readonly { readonly id: string }[]) => matches.map(({ id }) => id);

describe("a query by words", () => {
  const passages: Record<string, string> = {
    heron: "The grey heron nests above the old weir.",
    weir: "An old weir, and above it the mill.",
    mill: "The mill grinds flour; millers sleep.",
    nothing: "",
  };

  async function newPassages() {
    const { index, ...rest } = await newIndex();
    const items = Object.entries(passages).map(([id, contents], i) => {
      return { id, vector: [i, 1, 0, 0], contents, metadata: { year: 2000 + i } };
    });
    await index.upsert([...items, { id: "no contents", vector: [9, 9, 9, 9] }]);
    return { index, ...rest };
  }

  test("finds items that have one of the words, and returns the fields asked for", async () => {
    const { index } = await newPassages();
    const found = await index.query({ queryText: "heron weir", include: ["contents", "metadata"] });
    expect(ids(found)).toEqual(["heron", "weir"]);
    expect(found[0]).toMatchObject({ contents: passages.heron, metadata: { year: 2000 } });
    expect(found[0].score).toBeGreaterThan(found[1].score);
    expect(found[0]).not.toHaveProperty("distance");
  });

  test.each([
    ["a phrase", '"old weir"', ["heron", "weir"]],
    ["a phrase whose words are elsewhere", '"weir mill"', []],
    ["a required word", "mill +flour", ["mill"]],
    ["an excluded word", "weir -heron", ["weir"]],
    ["an excluded phrase", 'weir -"grey heron"', ["weir"]],
    ["a prefix", "mil*", ["mill", "weir"]],
    ["a required prefix", "weir +her*", ["heron"]],
    ["words that nobody has", "zebra", []],
    ["nothing", "", []],
    ["stop words alone", "the of", ["heron", "mill", "weir"]],
    ["stop words beside others", "the old flour", ["heron", "mill", "weir"]],
    ["a phrase of stop words and others", '"above the"', ["heron"]],
    ["a required stop word", "mill +it", ["weir"]],
    ["an excluded stop word", "weir -it", ["heron"]],
    ["a required word in another form", "mill +mills", []],
    ["an excluded word in another form", "mill -millers", ["weir"]],
    ["only excluded words", "-weir", []],
    ["a malformed query", '+ "weir -* ((', ["heron", "weir"]],
  ])("finds items by %s", async (_, queryText, expected) => {
    const { index } = await newPassages();
    expect(ids(await index.query({ queryText })).sort()).toEqual(expected.toSorted());
  });

  const stored = [
    "She logged in at noon.",
    "She logged out at noon.",
    "Dogs are not allowed here.",
    "A dog is allowed here.",
    "The Who played Tommy.",
    "To be, or not to be: that is the question.",
    "Ask IT about it.",
    "Her résumé is élite, says Schrödinger of Lange Straße.",
    "Release v1.2.3 plays H264.",
    "Please sign-off today.",
    "RULE-A002 was broken.",
  ];

  test.each([
    ['"logged in"', [0]],
    ['"logged out"', [1]],
    ['"log in"', []],
    ['"not allowed"', [2]],
    ['"is allowed"', [3]],
    ["+dog", [3]],
    ["allowed -dogs", [3]],
    ['"The Who"', [4]],
    ['"to be or not to be"', [5]],
    ["IT", [6]],
    ["+IT +about", [6]],
    ["who tommy", [4]],
    ["resume", [7]],
    ["Elite schrodinger", [7]],
    ['"lange strasse"', [7]],
    ['"1.2.3"', [8]],
    ["264", [8]],
    ["signoff", [9]],
    ["+sign-off", [9]],
    ["+signoff", [9]],
    ["RULEA002", [10]],
    ["+RULEA002", [10]],
    ["+rule-a002", [10]],
    ["log*", [0, 1]],
    ["+logs*", []],
  ])("finds by %s what has these words", async (queryText, expected) => {
    const { index } = await newIndex();
    await index.upsert(stored.map((contents, i) => ({ id: String(i), vector: [i, 1, 0, 0], contents })));
    expect(ids(await index.query({ queryText })).sort()).toEqual(expected.map(String).toSorted());
  });

  test("finds a phrase of frequent words late in a long text", async () => {
    const { index } = await newIndex();
    const long = `${"the end of the day ".repeat(1500)} in the end`;
    await index.upsert([{ id: "long", vector: [1, 0, 0, 0], contents: long }]);
    expect(ids(await index.query({ queryText: '"in the end"' }))).toEqual(["long"]);
    expect(await index.query({ queryText: '"end the"' })).toEqual([]);
  });

  test("returns the places of the words in contents, and the scores of both sides", async () => {
    const { index } = await newPassages();
    const include = ["scores", "highlights"] as const;
    const [first] = await index.query({ queryText: "mills", include });
    expect(first).toMatchObject({ scores: { words: first.score } });
    expect(first).not.toHaveProperty("contents");
    const pieces = first.highlights?.map(({ start, end }) => passages[first.id].slice(start, end));
    expect(pieces?.every((piece) => piece.startsWith("mill"))).toBe(true);
    const both = await index.query({ queryText: "mills", queryVector: [0, 1, 0, 0], include });
    const { scores } = both.find(({ id }) => id === "mill") ?? { scores: undefined };
    expect(scores).toEqual({ words: expect.any(Number), vectors: expect.any(Number) });
    expect(both.find(({ id }) => id === "nothing")?.scores).toEqual({ vectors: expect.any(Number) });
  });

  test("considers only items that a filter accepts, with the scores of all items", async () => {
    const { index } = await newPassages();
    const all = await index.query({ queryText: "weir" });
    const found = await index.query({ queryText: "weir", filter: { year: { $gt: 2000 } } });
    expect(found).toEqual(all.filter(({ id }) => id === "weir"));
  });

  test("counts fields by their weights", async () => {
    const { index } = await newIndex({ textFields: { "book.title": 4, contents: 1 } });
    await index.upsert([
      { id: "in contents", vector: [1, 0, 0, 0], contents: "heron", metadata: { book: { title: "birds" } } },
      { id: "in title", vector: [1, 0, 0, 0], contents: "birds", metadata: { book: { title: ["heron"] } } },
      { id: "nowhere", vector: [1, 0, 0, 0], contents: "birds", metadata: { title: "heron" } },
    ]);
    expect(ids(await index.query({ queryText: "heron" }))).toEqual(["in title", "in contents"]);
    await index.update({ ids: ["in title"] }, { metadata: { book: { title: "birds" } } });
    expect(ids(await index.query({ queryText: "heron" }))).toEqual(["in contents"]);
  });

  test("finds no word in the bytes of an image", async () => {
    const { index } = await newIndex();
    await index.upsert([{ id: "image", vector: [1, 0, 0, 0], contents: "data:image/png;base64,weir" }]);
    expect(await index.query({ queryText: "weir data image png base64" })).toEqual([]);
  });

  test("finds items by words and by meaning, in one list", async () => {
    const { index } = await newPassages();
    const found = await index.query({ queryText: "flour", queryVector: [0, 1, 0, 0], topK: 5 });
    expect(ids(found).sort()).toEqual(["heron", "mill", "no contents", "nothing", "weir"]);
    expect(found.every(({ distance }) => typeof distance === "number")).toBe(true);
    expect(found.map(({ score }) => score)).toEqual(found.map(({ score }) => score).sort((a, b) => b - a));
    const byWords = { method: "scores", alpha: 0 } as const;
    const best = await index.query({
      queryText: "flour",
      queryVector: [0, 1, 0, 0],
      topK: 1,
      fusion: byWords,
    });
    expect(ids(best)).toEqual(["mill"]);
    const filter = { year: 2000 };
    expect(ids(await index.query({ queryText: "flour", queryVector: [0, 1, 0, 0], filter }))).toEqual([
      "heron",
    ]);
  });

  test.each([
    ["an excluded word", "mill -heron", ["mill", "nothing", "weir"]],
    ["an excluded word alone", "-heron", ["mill", "nothing", "weir"]],
    ["a required word", "mill +weir", ["heron", "weir"]],
    ["a required word that nobody has", "mill +zebra", []],
    ["an excluded phrase", 'mill -"grey heron"', ["mill", "nothing", "weir"]],
  ])("%s limits results of vectors, too", async (_, queryText, expected) => {
    const { index } = await newPassages();
    // In a segment of its own, without a word.
    await index.upsert([{ id: "silent", vector: [5, 5, 5, 5] }]);
    const found = ids(await index.query({ queryText, queryVector: [0, 1, 0, 0] }));
    const silent = queryText.includes("+") ? [] : ["no contents", "silent"];
    expect(found.toSorted()).toEqual([...expected, ...silent].toSorted());
  });

  test("rejects invalid queries, and an index without words", async () => {
    const { index } = await newPassages();
    const invalid = { code: "invalid_request" };
    await expect(index.query({ queryText: 5 as never })).rejects.toMatchObject(invalid);
    await expect(index.query({ queryText: "x".repeat(70_000) })).rejects.toMatchObject(invalid);
    await expect(index.query({ queryText: "x", queryVectors: [] } as never)).rejects.toMatchObject(invalid);
    await expect(index.query({ queryText: "x", queryContents: "x" })).rejects.toMatchObject(invalid);
    await expect(index.query({ queryText: "x", queryVector: [1], queryContents: "x" })).rejects.toMatchObject(
      invalid,
    );
    const mismatch = { code: "dimension_mismatch" };
    await expect(index.query({ queryText: "x", queryVector: [1] })).rejects.toMatchObject(mismatch);
    const { index: without } = await newIndex(false);
    await expect(without.query({ queryText: "x" })).rejects.toMatchObject(invalid);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(index.query({ queryText: "weir", signal })).rejects.toThrow("enough");
  });

  test.each([
    [{ method: "best" }, "method"],
    [{ method: "automatic", alpha: 0.5 }, "alpha"],
    [{ method: "scores", k: 60 }, '"k"'],
    [{ method: "rank", k: -1 }, "fusion.k"],
    [{ method: "rank", weight: 1 }, '"weight"'],
  ])("rejects a fusion that its method does not take: %o", async (fusion, named) => {
    const { index } = await newPassages();
    const query = index.query({ queryText: "weir", queryVector: [1, 2, 3, 4], fusion: fusion as never });
    await expect(query).rejects.toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining(named) as string,
    });
  });

  test("finds nothing in an empty index, nor with topK 0", async () => {
    const { index } = await newIndex();
    expect(await index.query({ queryText: "weir" })).toEqual([]);
    expect(await index.query({ queryText: "weir", queryVector: [1, 2, 3, 4] })).toEqual([]);
    const { index: filled } = await newPassages();
    expect(await filled.query({ queryText: "weir", topK: 0 })).toEqual([]);
  });

  test("skips blocks of long lists, and loses no row by it", async () => {
    const random = seededRandom(9);
    const { index } = await newIndex();
    const texts = new Map<string, readonly string[]>();
    for (let i = 0; i < 6000; i++) {
      const words = Array.from({ length: 1 + Math.floor(20 * random() ** 4) }, () => {
        return vocabulary[Math.floor(60 * random() ** 2)];
      });
      texts.set(`item ${i}`, words);
    }
    const items = [...texts].map(([id, words]) => ({ id, vector: [1, 0, 0, 0], contents: words.join(" ") }));
    await index.upsert(items);
    for (const query of [["w0x"], ["w0x", "w1x"], ["w3x", "w40x"], ["w0x", "w5x", "w20x", "w59x"]]) {
      await expectLikeBruteForce(index, texts, query, 10);
    }
  });

  test.each(Array.from({ length: histories }, (_, seed) => [seed + 1]))(
    "ranks as BM25 by definition after a random history (seed %i)",
    async (seed) => {
      const random = seededRandom(seed);
      const pick = (n: number) => Math.floor(random() * n);
      const word = () => vocabulary[Math.floor(vocabulary.length * random() ** 3)];
      const created = await newIndex();
      let { index } = created;
      const texts = new Map<string, readonly string[]>();
      const vector = () => Array.from({ length: dimension }, () => random() - 0.5);
      for (let step = 0; step < 40; step++) {
        const choice = pick(10);
        if (choice < 5) {
          const items = Array.from({ length: 1 + pick(choice === 0 ? 600 : 30) }, () => {
            const id = `item ${pick(900)}`;
            const words = Array.from({ length: pick(4) === 0 ? 0 : pick(30) }, word);
            return { id, words };
          });
          for (const { id, words } of items) texts.set(id, words);
          await index.upsert(
            items.map(({ id, words }) => ({ id, vector: vector(), contents: words.join(" ") })),
          );
        } else if (choice === 5) {
          const gone = Array.from({ length: pick(60) }, () => `item ${pick(900)}`);
          for (const id of gone) texts.delete(id);
          await index.delete({ ids: gone });
        } else if (choice === 6) {
          await index.update({ ids: [`item ${pick(900)}`] }, { metadata: { step } });
        } else if (choice === 7) {
          index = await open(created.store).loadIndex(created.options);
        } else if (choice === 8) {
          await index.compact();
        } else if (texts.size > 8) {
          await index.train({ nLists: 1 + pick(6) });
        }
        const query = [...new Set(Array.from({ length: 1 + pick(5) }, word))];
        await expectLikeBruteForce(index, texts, query, [1, 10, 1000][pick(3)]);
      }
    },
  );
});
