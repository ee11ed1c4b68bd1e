/** Rewritten rows are found by their words: merges, trainings, updates and erasure analyze stored texts again. */

import { expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { seededRandom } from "../../src/engine/random.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { TextDefinition } from "../../src/text/text-options.js";
import { fixedRecord, keyOf, openIndex } from "../protocol/open.js";
import { storeOf } from "../security/world.js";
import { repeats } from "../tier.js";

const histories = repeats("SEALDEX_MERGED_WORDS", { fast: 2, all: 12 });

const text: TextDefinition = {
  analyzer: { version: 1, language: "english", stemming: true, stopWords: true },
  fields: [
    { path: "contents", weight: 1 },
    { path: "title", weight: 16 },
    { path: "about.tags", weight: 3 },
  ],
  k1: 1.5,
  b: 0.75,
};

/** Changes of metadata leave these texts as they are. */
const contentsOnly: TextDefinition = { ...text, fields: text.fields.slice(0, 1) };

interface Stored {
  readonly contents?: string;
  readonly title?: string;
  readonly tags: readonly unknown[];
}

test.each(Array.from({ length: histories }, (_, i) => [i + 1]))(
  "a random history of writes, merges, trainings and erasures loses no word (seed %i)",
  async (seed) => {
    const random = seededRandom(seed);
    const pick = (n: number) => Math.floor(random() * n);
    const vocabulary = ["herons", "getUserById", "naïve", ...Array.from({ length: 300 }, (_, i) => `w${i}x`)];
    const word = () => vocabulary[Math.floor(vocabulary.length * random() ** 3)];
    const words = (n: number) => Array.from({ length: n }, word).join(" ");
    const definition = seed % 2 === 1 ? text : contentsOnly;
    const { index, inner, close } = openIndex(fixedRecord(definition), createMemoryStore(), systemClock);
    await inner.log.createFirst();
    const model = new Map<string, Map<string, Stored>>(
      [[""], ["ann"], ["bob"]].map(([name]) => [name, new Map()]),
    );
    const rowsOf = (name: string) => model.get(name) ?? new Map<string, Stored>();
    /** A call without a namespace concerns the items of all. */
    const scopesOf = (name: string) => (name === "" ? [...model.values()] : [rowsOf(name)]);
    const idsIn = (name: string) => [...new Set(scopesOf(name).flatMap((rows) => [...rows.keys()]))];
    const inNamespace = (namespace: string) => (namespace === "" ? {} : { namespace });

    const upsert = async (name: string, n: number) => {
      const items = Array.from({ length: n }, () => {
        const id = `item ${pick(400)}`;
        const contents = pick(60) === 0 ? "weir ".repeat(300) + words(400) : words(pick(30));
        const stored: Stored = {
          ...(pick(3) > 0 && { contents }),
          ...(pick(2) === 0 && { title: words(pick(5)) }),
          tags: [words(2), 7, words(1)],
        };
        rowsOf(name).set(id, stored);
        return { id, ...stored };
      });
      await index.upsert(
        items.map(({ id, contents, title, tags }) => ({
          id,
          vector: [random(), random(), random()],
          ...(contents !== undefined && { contents }),
          metadata: { ...(title !== undefined && { title }), about: { tags } },
        })),
        inNamespace(name),
      );
    };
    const retitle = async () => {
      const name = ["", "ann", "bob"][pick(3)];
      const ids = idsIn(name).filter(() => pick(4) === 0);
      const title = words(3);
      await index.update({ ids }, { metadata: { title } }, inNamespace(name));
      for (const rows of scopesOf(name)) {
        for (const id of ids) {
          const stored = rows.get(id);
          if (stored) rows.set(id, { ...stored, title });
        }
      }
    };
    const checkWords = async () => {
      for (const name of model.keys()) {
        for (let query = 0; query < 6; query++) {
          const sought = word();
          const holds = (value: unknown) => typeof value === "string" && value.split(" ").includes(sought);
          const expected = scopesOf(name)
            .flatMap((rows) => [...rows])
            .filter(([, { contents, title, tags }]) =>
              [contents, ...(definition === text ? [title, ...tags] : [])].some(holds),
            )
            .map(([id]) => id);
          const found = await index.query({ queryText: sought, topK: 1000, ...inNamespace(name) });
          expect(found.map(({ id }) => id).sort()).toEqual(expected.sort());
        }
      }
    };

    for (let step = 0; step < 40; step++) {
      const name = ["", "", "ann", "bob"][pick(4)];
      const choice = pick(12);
      if (choice < 6) await upsert(name, 1 + pick(step % 9 === 0 ? 300 : 20));
      else if (choice === 6) {
        const ids = idsIn(name).filter(() => pick(8) === 0);
        await index.delete({ ids }, inNamespace(name));
        for (const rows of scopesOf(name)) for (const id of ids) rows.delete(id);
      } else if (choice === 7) await retitle();
      else if (choice === 8) await index.compact();
      else if (choice === 9 && (await index.count()) > 8) await index.train({ nLists: 1 + pick(6) });
      else if (choice === 10 && pick(3) === 0) {
        await index.erase("bob");
        rowsOf("bob").clear();
      }
      await checkWords();
    }
    await index.compact();
    await checkWords();
    await close();
  },
);

test.each(["lengths", "postings", "dictionary"] as const)(
  "a merge replaces a damaged block of the %s",
  async (section) => {
    const blobs = new Map<string, Uint8Array>();
    const first = openIndex(fixedRecord(text), storeOf(blobs), systemClock);
    await first.inner.log.createFirst();
    for (let n = 0; n < 2; n++) {
      const items = Array.from({ length: 30 }, (_, i) => ({
        id: `${n} ${i}`,
        vector: [n, i, 1],
        contents: `heron ${i} of the weir`,
      }));
      await first.index.upsert(items);
    }
    const [{ ref, reader }] = (await first.inner.snapshots.newest()).stored;
    const [{ offset, length }] = reader.footer[section];
    await first.close();
    const damaged = Uint8Array.from(blobs.get(keyOf(ref.name)) ?? []);
    damaged[offset + Math.floor(length / 2)] ^= 1;
    blobs.set(keyOf(ref.name), damaged);

    const second = openIndex(fixedRecord(text), storeOf(blobs), systemClock);
    const query = { queryText: "heron weir", topK: 100 };
    await expect(second.index.query(query)).rejects.toMatchObject({ code: "corrupt" });
    await second.index.compact();
    expect(await second.index.query(query)).toHaveLength(60);
    await second.close();
  },
);
