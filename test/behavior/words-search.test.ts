/** Queries by words in several segments with replaced and deleted rows, compared with a plain model of what they mean. */

import { describe, expect, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { createMemoryStore } from "../../src/storage/memory.js";

interface Item {
  readonly words: readonly string[];
  readonly group: number;
}

type Model = Map<string, Item>;

/** A word, a phrase of two, or the beginning of words. */
interface Part {
  readonly sign: "" | "+" | "-";
  readonly text: string;
  countIn(words: readonly string[]): number;
  isIn(words: readonly string[]): boolean;
}

function word(sign: Part["sign"], text: string): Part {
  const countIn = (words: readonly string[]) => words.filter((each) => each === text).length;
  return { sign, text: sign + text, countIn, isIn: (words) => countIn(words) > 0 };
}

function prefix(sign: Part["sign"], text: string): Part {
  const countIn = (words: readonly string[]) => words.filter((each) => each.startsWith(text)).length;
  return { sign, text: `${sign}${text}*`, countIn, isIn: (words) => countIn(words) > 0 };
}

function phrase(sign: Part["sign"], first: string, second: string): Part {
  const isIn = (words: readonly string[]) =>
    words.some((each, i) => each === first && words[i + 1] === second);
  return { sign, text: `${sign}"${first} ${second}"`, countIn: () => 0, isIn };
}

/** Ids with their scores, best first. */
function expected(model: Model, parts: readonly Part[], scored: readonly Part[], group?: number) {
  const documents = [...model].filter(([, { words }]) => words.length > 0);
  const average = documents.reduce((sum, [, { words }]) => sum + words.length, 0) / documents.length;
  const weights = scored.map((part) => {
    const n = documents.filter(([, { words }]) => part.isIn(words)).length;
    return Math.log(1 + (documents.length - n + 0.5) / (n + 0.5));
  });
  const found = documents.flatMap(([id, item]) => {
    const isAllowed = parts.every(({ sign, text, isIn }) => {
      if (sign === "-") return !isIn(item.words);
      return (sign === "" && !text.startsWith('"')) || isIn(item.words);
    });
    if (!isAllowed || (group !== undefined && item.group !== group)) return [];
    const norm = 1.5 * (0.25 + (0.75 * item.words.length) / average);
    const score = scored.reduce((sum, part, i) => {
      const frequency = part.countIn(item.words);
      return sum + (weights[i] * frequency) / (frequency + norm);
    }, 0);
    return score > 0 ? [{ id, score }] : [];
  });
  return found.sort((a, b) => b.score - a.score);
}

async function newIndex(): Promise<VectorIndex> {
  const client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
  return client.createIndex({ indexName: "words", indexKey: generateKey(), textIndex: true });
}

function itemsOf(model: Iterable<[string, Item]>) {
  return Array.from(model, ([id, { words, group }]) => ({
    id,
    vector: [1, 0],
    contents: words.join(" "),
    metadata: { group },
  }));
}

describe.each([1, 2])("after a history of writes and deletions (seed %i)", (seed) => {
  const vocabulary = ["a", "b", "c"].flatMap((start) => Array.from({ length: 6 }, (_, i) => `${start}${i}x`));
  const random = seededRandom(seed);
  const pick = (n: number) => Math.floor(n * random());
  const anyWord = () => vocabulary[Math.floor(vocabulary.length * random() ** 2)];

  async function filled(): Promise<{ index: VectorIndex; model: Model }> {
    const index = await newIndex();
    const model: Model = new Map();
    for (let step = 0; step < 6; step++) {
      const written = Array.from({ length: 30 }, (): [string, Item] => [
        `item ${pick(90)}`,
        { words: Array.from({ length: pick(6) }, anyWord), group: pick(4) },
      ]);
      const distinct = new Map(written);
      for (const [id, item] of distinct) model.set(id, item);
      await index.upsert(itemsOf(distinct));
      const gone = Array.from({ length: 3 }, () => `item ${pick(90)}`);
      for (const id of gone) model.delete(id);
      await index.delete({ ids: gone });
    }
    // Without texts.
    await index.upsert([{ id: "vector alone", vector: [0, 1], metadata: { group: 1 } }]);
    return { index, model };
  }

  test("finds and scores what the query means, with filters and without", async () => {
    const { index, model } = await filled();
    const found = async (queryText: string, topK: number, group?: number) =>
      index.query({ queryText, topK, ...(group !== undefined && { filter: { group } }) });
    for (let round = 0; round < 80; round++) {
      const sign = (["", "", "+", "-"] as const)[pick(4)];
      const extra = [
        word(sign, anyWord()),
        prefix(sign, ["a", "b", "c", "b1", "none"][pick(5)]),
        phrase(sign, anyWord(), anyWord()),
      ][pick(3)];
      const first = word("", anyWord());
      const second = word("", anyWord());
      const parts = [first, second, extra];
      const phraseWords = extra.text.includes('"') && sign !== "-" ? extra.text.match(/\w+/g) : [];
      const words = [first, second, ...(phraseWords ?? []).map((text) => word("", text))];
      // A repeated word counts as often as it is there.
      const scored = sign === "-" || phraseWords?.length ? words : [...words, extra];
      const group = [undefined, 0, 3][pick(3)];
      const text = parts.map((part) => part.text).join(" ");
      const wanted = expected(model, parts, scored, group);
      for (const topK of [1, 100]) {
        const answer = await found(text, topK, group);
        expect(answer.length, text).toBe(Math.min(topK, wanted.length));
        answer.forEach((match, i) => expect(match.score, text).toBeCloseTo(wanted[i].score, 8));
        const scores = new Map(wanted.map(({ id, score }) => [id, score]));
        for (const { id, score } of answer) expect(scores.get(id), text).toBeCloseTo(score as number, 8);
      }
    }
  });

  test("what words require or exclude holds for what is found by vectors as well", async () => {
    const { index, model } = await filled();
    const all = async (queryText: string) =>
      (await index.query({ queryText, queryVector: [1, 0], topK: 200 })).map(({ id }) => id).sort();
    const having = (text: string) =>
      [...model].filter(([, { words }]) => words.includes(text)).map(([id]) => id);
    const others = (text: string) =>
      [...model.keys(), "vector alone"].filter((id) => !having(text).includes(id));
    for (const text of ["a0x", "b2x", "c5x"]) {
      expect(await all(`+${text}`)).toEqual(having(text).sort());
      expect(await all(`a1x -${text}`)).toEqual(others(text).sort());
    }
    expect(await all("+nowhere")).toEqual([]);
    expect(await all("-nowhere")).toEqual([...model.keys(), "vector alone"].sort());
  });
});

test("a prefix stands for its first 128 terms of live rows", async () => {
  const index = await newIndex();
  const name = (i: number) => `p${String(i).padStart(3, "0")}x`;
  await index.upsert(
    Array.from({ length: 200 }, (_, i) => ({ id: `${i}`, vector: [1, 0], contents: name(i) })),
  );
  const found = async (queryText: string) =>
    (await index.query({ queryText, topK: 1000 })).map(({ id }) => Number(id)).sort((a, b) => a - b);
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
  expect(await found("p*")).toEqual(range(0, 128));
  await index.delete({ ids: range(0, 10).map(String) });
  expect(await found("p*")).toEqual(range(10, 138));
  expect(await found("p1*")).toEqual(range(100, 200));
});

test("each of thousands of terms of several scripts is found", async () => {
  const index = await newIndex();
  const beginnings = ["z", "\u{10428}", "ж", "ö", "ab".repeat(20)];
  const terms = Array.from({ length: 4000 }, (_, i) => `${beginnings[i % 5]}${i}`);
  await index.upsert(terms.map((contents, i) => ({ id: `${i}`, vector: [1, 0], contents })));
  const found = async (queryText: string) => (await index.query({ queryText })).map(({ id }) => id);
  for (let i = 0; i < terms.length; i += 3) expect(await found(`"${terms[i]}"`)).toEqual([`${i}`]);
  expect(await found('"z1"')).toEqual([]);
});

test("a phrase is found wherever it begins, however often its words are repeated", async () => {
  const index = await newIndex();
  const texts = ["ax bx cx", "bx ax cx", "ax ax bx", "ax cx bx", "cx ax bx ax bx cx", "bx bx", "ax"];
  await index.upsert(texts.map((contents, i) => ({ id: `${i}`, vector: [1, 0], contents })));
  const found = async (queryText: string) => (await index.query({ queryText })).map(({ id }) => id).sort();
  expect(await found('"ax bx"')).toEqual(["0", "2", "4"]);
  expect(await found('"ax bx cx"')).toEqual(["0", "4"]);
  expect(await found('"bx bx"')).toEqual(["5"]);
  expect(await found('ax -"ax bx"')).toEqual(["1", "3", "6"]);
  expect(await found('+cx "ax bx"')).toEqual(["0", "4"]);
  expect(await found('"ax zx"')).toEqual([]);
});

test("a query by words ends when it is aborted", async () => {
  const index = await newIndex();
  await index.upsert([{ id: "a", vector: [1, 0], contents: "ax" }]);
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(index.query({ queryText: "ax", signal })).rejects.toThrow();
});
