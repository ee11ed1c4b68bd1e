/** Rows that move to other segments take their words with them: those of each segment are always what its texts give. */

import { expect, test } from "vitest";
import { systemClock } from "../../src/commit/clock.js";
import { rowTexts } from "../../src/encrypted-index/row-texts.js";
import { seededRandom } from "../../src/engine/random.js";
import type { OpenSegment } from "../../src/search/snapshot.js";
import { rowsOf } from "../../src/segment/row.js";
import { encodeTermIndex } from "../../src/segment/term-index.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { createAnalyzer } from "../../src/text/analyzer.js";
import type { TextDefinition } from "../../src/text/text-options.js";
import { fixedRecord, keyOf, type Opened, openIndex } from "../protocol/open.js";
import { finish } from "../engine/finish.js";
import { storeOf } from "../tamper/world.js";
import { repeats } from "../tier.js";
import type { VectorIndex } from "../../src/vector-index.js";

const histories = repeats("SEALDEX_MOVED_WORDS", { fast: 1, all: 8 });

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

async function newIndex(definition: TextDefinition): Promise<Opened> {
  const opened = openIndex(fixedRecord(definition), createMemoryStore(), systemClock);
  await opened.inner.log.begin();
  return opened;
}

/** The words of a segment are, byte for byte, what analyzing its texts gives. */
async function expectOwnWords({ reader }: OpenSegment, definition = text): Promise<void> {
  const { footer } = reader;
  const rows = Array.from({ length: footer.rows }, (_, i) => i);
  const [records, contents] = [await reader.forward("records")(rows), await reader.forward("contents")(rows)];
  const fingerprints: Uint8Array[] = [];
  for (const block of footer.codes) {
    const { fingerprints: own } = await reader.readCodes(block);
    for (let i = 0; i < block.rows; i++) fingerprints.push(new Uint8Array(own.buffer, 16 * i, 16));
  }
  const stored = rows.map((row) => ({
    fingerprint: fingerprints[row],
    record: records.entry(row) ?? new Uint8Array(),
    contents: contents.entry(row),
  }));
  const texts = rowTexts(definition, createAnalyzer(definition.analyzer));
  const expected = finish(encodeTermIndex(rowsOf(stored), { texts, known: [] }));
  const blocks = [...footer.lengths, ...footer.postings, ...footer.dictionary];
  const found = (await reader.readBlocks(blocks)).map((plaintext) => Buffer.from(plaintext));
  const { lengths = [], postings = [], dictionary = [], ...sums } = expected ?? {};
  const plaintexts = [
    ...lengths.map(({ plaintext }) => plaintext),
    ...postings,
    ...dictionary.map(({ plaintext }) => plaintext),
  ];
  expect(footer.textSums).toEqual(expected && sums);
  expect(footer.dictionary.map(({ firstTerm }) => firstTerm)).toEqual(
    dictionary.map((page) => page.firstTerm),
  );
  expect(found).toEqual(plaintexts.map((plaintext) => Buffer.from(plaintext)));
}

test.each(Array.from({ length: histories }, (_, i) => [i + 1]))(
  "after a random history of writes, merges and trainings (seed %i)",
  async (seed) => {
    const random = seededRandom(seed);
    const pick = (n: number) => Math.floor(random() * n);
    const word = () =>
      ["herons", "getUserById", "the.of", "naïve"][pick(40)] ?? `w${Math.floor(600 * random() ** 3)}x`;
    const words = (n: number) => Array.from({ length: n }, word).join(" ");
    const definition = seed % 2 === 1 ? text : contentsOnly;
    const { index, inner, close } = await newIndex(definition);
    const item = () => ({
      id: `item ${pick(700)}`,
      vector: [random(), random(), random()],
      ...(pick(3) > 0 && { contents: pick(60) === 0 ? "weir ".repeat(300) + words(400) : words(pick(30)) }),
      metadata: { ...(pick(2) === 0 && { title: words(pick(5)) }), about: { tags: [words(2), 7, words(1)] } },
      ...(pick(20) === 0 && { expiresAt: Date.now() - 1 }),
    });
    const namespace = () => [{}, {}, { namespace: "ann" }, { namespace: "bob" }][pick(4)];
    const checked = new Set<string>();
    for (let step = 0; step < 50; step++) {
      const choice = pick(12);
      if (choice < 7)
        await index.upsert(Array.from({ length: 1 + pick(step % 9 === 0 ? 300 : 20) }, item), namespace());
      else if (choice === 7) await index.delete({ ids: Array.from({ length: pick(80) }, () => item().id) });
      else if (choice === 8) {
        const items = [{ ids: [item().id, item().id] }, { filter: { title: { $exists: pick(2) === 0 } } }];
        await index.update(items[pick(2)], { metadata: { title: words(3) } });
      } else if (choice === 9) await index.compact();
      else if (choice === 10 && (await index.count()) > 8) await index.train({ nLists: 1 + pick(6) });
      else if (choice === 11 && pick(4) === 0) await index.erase("bob");
      const { stored } = await inner.snapshots.newest();
      for (const segment of stored) {
        if (!checked.has(segment.ref.name)) await expectOwnWords(segment, definition);
        checked.add(segment.ref.name);
      }
    }
    await close();
  },
);

const sections = ["lengths", "postings", "dictionary"] as const;

test.each([
  ...sections.map((section) => ({
    section,
    change: "a merge",
    definition: text,
    run: (index: VectorIndex): Promise<unknown> => index.compact(),
    segments: 1,
  })),
  ...sections.map((section) => ({
    section,
    change: "an update of metadata",
    definition: contentsOnly,
    run: (index: VectorIndex): Promise<unknown> =>
      index.update({ filter: { n: 0 } }, { metadata: { title: "weir" } }),
    segments: 3,
  })),
])(
  "$change reads the words, so a damaged block of the $section fails it, and changes nothing",
  async ({ section, definition, run, segments }) => {
    const blobs = new Map<string, Uint8Array>();
    const first = openIndex(fixedRecord(definition), storeOf(blobs), systemClock);
    await first.inner.log.begin();
    for (let n = 0; n < 2; n++) {
      const items = Array.from({ length: 30 }, (_, i) => ({
        id: `${n} ${i}`,
        vector: [n, i, 1],
        contents: `heron ${i} of the weir`,
        metadata: { n },
      }));
      await first.index.upsert(items);
    }
    const { stored: written } = await first.inner.snapshots.newest();
    const [{ ref, reader }] = written;
    const [{ offset, length }] = reader.footer[section];
    await first.close();
    const whole = blobs.get(keyOf(ref.name)) ?? new Uint8Array();
    const damaged = Uint8Array.from(whole);
    damaged[offset + Math.floor(length / 2)] ^= 1;
    blobs.set(keyOf(ref.name), damaged);
    const before = [...blobs.keys()];
    const second = openIndex(fixedRecord(definition), storeOf(blobs), systemClock);
    await expect(run(second.index)).rejects.toMatchObject({ code: "corrupt" });
    expect([...blobs.keys()]).toEqual(before);
    await second.close();

    blobs.set(keyOf(ref.name), whole);
    const third = openIndex(fixedRecord(definition), storeOf(blobs), systemClock);
    await run(third.index);
    const { stored } = await third.inner.snapshots.newest();
    expect(stored.length).toBe(segments);
    for (const segment of stored) await expectOwnWords(segment, definition);
    await third.close();
  },
);
