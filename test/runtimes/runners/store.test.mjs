// Run by scripts/check-test-runners.mjs under Jest and Vitest, each with its defaults, where it is a user's test of a user's program.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Document } from "@langchain/core/documents";
import { EncryptedByteStore, EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";
import { EncryptedSaver, EncryptedStore } from "sealdex/langgraph";
import { useFakeTimers } from "sinon";

const runner = typeof jest === "undefined" ? vi : jest;
const indexKey = generateKey();
const folder = mkdtempSync(join(tmpdir(), "sealdex-runner-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Enough documents to take several turns of the event loop. */
const documents = Array.from(
  { length: 600 },
  (_, page) => new Document({ pageContent: `Page ${page} of the handbook.`, metadata: { page } }),
);

const open = (indexName) => ({ indexName, indexKey, indexLocation: { location: "local", path: folder } });

/** What an application does with each class. */
async function use(name) {
  const store = new EncryptedVectorStore(new SealdexEmbeddings(), { ...open(name), textIndex: true });
  const ids = await store.addDocuments(documents);
  expect(ids.length).toBe(600);
  const [found] = await store.asRetriever({ k: 1, filter: { page: { $gte: 9 } } }).invoke("page 9");
  expect(found.metadata.page).toBeGreaterThanOrEqual(9);
  expect((await store.hybridSearch("handbook page 300", 3)).length).toBe(3);
  await store.delete({ ids: ids.slice(1) });
  expect((await store.similaritySearch("page", 5)).map(({ id }) => id)).toEqual([ids[0]]);
  await store.close();

  const bytes = new EncryptedByteStore(open(`${name} bytes`));
  await bytes.mset([["a", new Uint8Array([1, 2])]]);
  expect(Array.from((await bytes.mget(["a"]))[0])).toEqual([1, 2]);
  await bytes.close();

  const memories = new EncryptedStore(open(`${name} memories`));
  await memories.put(["ann"], "likes", { food: "pizza" });
  expect((await memories.search(["ann"], { filter: { food: "pizza" } })).length).toBe(1);
  await memories.stop();

  const saver = new EncryptedSaver(open(`${name} threads`));
  const checkpoint = {
    v: 4,
    id: "1ef4f797-8335-6428-8001-8a1503f9b875",
    ts: new Date().toISOString(),
    channel_values: { messages: ["hello"] },
    channel_versions: { messages: 1 },
    versions_seen: {},
  };
  const config = { configurable: { thread_id: "1", checkpoint_ns: "" } };
  await saver.put(config, checkpoint, { source: "input", step: 0, parents: {} }, {});
  expect((await saver.getTuple(config)).checkpoint.channel_values).toEqual({ messages: ["hello"] });
  await saver.deleteThread("1");
  await saver.stop();
}

test("stores work where each test has a realm of its own", async () => {
  expect(runner.isFakeTimers?.()).not.toBe(true);
  await use("plain");
  const other = { ...open("plain"), indexKey: generateKey() };
  const refused = await EncryptedVectorStore.fromExistingIndex(new SealdexEmbeddings(), other).catch(
    (e) => e,
  );
  expect(refused).toBeInstanceOf(Error);
  expect(refused.code).toBe("wrong_index_key");
}, 60_000);

const fakes = {
  "the runner's fake timers": () => {
    runner.useFakeTimers();
    return () => runner.useRealTimers();
  },
  "sinon's fake timers": () => {
    // Node's own messages between processes come by nextTick: no pool of processes lets anyone fake it.
    const clock = useFakeTimers(process.send && { toNotFake: ["nextTick"] });
    return () => clock.restore();
  },
};

for (const [name, install] of Object.entries(fakes)) {
  test(`${name} stop no call, nor one after them`, async () => {
    const kept = new EncryptedVectorStore(new SealdexEmbeddings(), open(`${name} kept`));
    await kept.addDocuments(documents.slice(0, 2));
    const restore = install();
    let begun;
    try {
      await use(`${name} faked`);
      await kept.addDocuments(documents.slice(2, 4));
      begun = kept.similaritySearch("page", 9);
    } finally {
      restore();
    }
    expect((await begun).length).toBe(4);
    expect((await kept.similaritySearch("page", 9)).length).toBe(4);
    await kept.close();
    await use(`${name} after`);
  }, 60_000);
}
