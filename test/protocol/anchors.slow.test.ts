/** Attacks on an index whose state is anchored, noticed or not: each works on whole copies of the stores. */

import { afterEach, describe, expect, test } from "vitest";
import { type BlobStore, createClient, generateKey, SealdexError } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { historyMs } from "../../src/state/commit/retention.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { StandingClock } from "./standing-clock.js";
import { startService } from "../http/service.js";
import { whole } from "../ranges.js";
import { codeOf } from "../outcome.js";

const indexName = "anchored";

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

function open(store: BlobStore, anchorLocation?: BlobStore) {
  const client = createClient({ indexLocation: store, anchorLocation, automaticTraining: false });
  opened.push(client);
  return client;
}

async function contentOf(store: BlobStore): Promise<Map<string, Uint8Array>> {
  const content = new Map<string, Uint8Array>();
  for (const name of await store.list(""))
    content.set(name, (await store.read(name, whole)) ?? new Uint8Array());
  return content;
}

async function restore(store: BlobStore, content: ReadonlyMap<string, Uint8Array>): Promise<void> {
  await store.delete(await store.list(""));
  for (const [name, bytes] of content) await store.create(name, bytes);
}

/** An index with `writes` commits of one item each; `states[i]` is its storage after i of them. */
async function history(writes: number, anchors?: BlobStore) {
  const store = createMemoryStore();
  const indexKey = generateKey();
  const index = await open(store, anchors).createIndex({ indexName, indexKey });
  const states = [await contentOf(store)];
  const tokens = [await index.anchor()];
  for (let i = 0; i < writes; i++) {
    await index.upsert([{ id: `${i}`, vector: [i, 1] }]);
    states.push(await contentOf(store));
    tokens.push(await index.anchor());
  }
  return { store, indexKey, index, states, tokens };
}

test("without an anchor a new process accepts any old state, with one it refuses every older state", async () => {
  const { store, indexKey, states, tokens } = await history(6);
  for (const [i, state] of states.entries()) {
    await restore(store, state);
    expect(await codeOf(open(store).loadIndex({ indexName, indexKey }))).toBe("done");
    for (const [j, anchor] of tokens.entries()) {
      const outcome = await codeOf(open(store).loadIndex({ indexName, indexKey, anchor }));
      expect(outcome, `state ${i}, anchor ${j}`).toBe(i >= j ? "done" : "rollback_detected");
    }
  }
});

test("without an anchor an index location that turns back alone shows no older state", async () => {
  const [indexLocation, configLocation] = [createMemoryStore(), createMemoryStore()];
  const connect = () => {
    const client = createClient({ indexLocation, configLocation, automaticTraining: false });
    opened.push(client);
    return client;
  };
  const indexKey = generateKey();
  const index = await connect().createIndex({ indexName, indexKey });
  const states: Map<string, Uint8Array>[] = [];
  for (let i = 0; i < 4; i++) {
    states.push(await contentOf(indexLocation));
    await index.upsert([{ id: `${i}`, vector: [i, 1] }]);
  }
  const newest = await contentOf(indexLocation);
  for (const state of states) {
    await restore(indexLocation, state);
    const again = await connect().loadIndex({ indexName, indexKey });
    expect(await codeOf(again.query({ queryVector: [1, 1], topK: 9 }))).toBe("missing_object");
  }
  await restore(indexLocation, newest);
  expect(await (await connect().loadIndex({ indexName, indexKey })).listIds()).toHaveLength(4);
});

test("an anchor of another history of the same index is refused, however long that history is", async () => {
  const { store, indexKey, states, tokens } = await history(4);
  await restore(store, states[2]);
  const fork = await open(store).loadIndex({ indexName, indexKey });
  for (let i = 0; i < 40; i++) {
    const outcome = await codeOf(open(store).loadIndex({ indexName, indexKey, anchor: tokens[4] }));
    expect(outcome, `${i} commits`).toBe("rollback_detected");
    await fork.upsert([{ id: `fork ${i}`, vector: [i, i] }]);
  }
  expect(await codeOf(open(store).loadIndex({ indexName, indexKey, anchor: tokens[2] }))).toBe("done");
});

test("an anchor stays valid while the index changes, even after its manifest was collected", async () => {
  const { store, indexKey, states, tokens } = await history(2);
  const clock = new StandingClock();
  const client = new EmbeddedClient({ indexLocation: store, automaticTraining: false }, clock);
  const index = await client.loadIndex({ indexName, indexKey });
  const manifests = async () => (await store.list("index/")).filter((name) => name.includes("/manifest/"));
  const before = await manifests();
  for (let i = 0; i < 4; i++) {
    clock.advance(historyMs);
    await index.upsert([{ id: `${i}`, vector: [i, 2] }]);
  }
  await index.compact();
  await client.close();
  expect(await manifests()).not.toEqual(expect.arrayContaining(before));
  for (const anchor of tokens) {
    expect(await codeOf(open(store).loadIndex({ indexName, indexKey, anchor }))).toBe("done");
  }
  await restore(store, states[1]);
  expect(await codeOf(open(store).loadIndex({ indexName, indexKey, anchor: tokens[2] }))).toBe(
    "rollback_detected",
  );
});

test.each(["", "anchor", 5, null, "sealdex-anchor-1-AAAA", `sealdex-anchor-1-${"A".repeat(76)}`])(
  "%j is no anchor",
  async (anchor) => {
    const { store, indexKey } = await history(0);
    const loading = open(store).loadIndex({ indexName, indexKey, anchor: anchor as string });
    expect(await codeOf(loading)).toBe("invalid_request");
  },
);

test("an anchor holds nothing of the key or the content, and damaged ones are refused", async () => {
  const { store, indexKey, tokens } = await history(1);
  expect(tokens[1]).toMatch(/^sealdex-anchor-1-[\w-]{75}$/);
  for (let at = "sealdex-anchor-1-".length; at < tokens[1].length; at++) {
    const other = tokens[1][at] === "A" ? "Q" : "A";
    const damaged = tokens[1].slice(0, at) + other + tokens[1].slice(at + 1);
    const outcome = await codeOf(open(store).loadIndex({ indexName, indexKey, anchor: damaged }));
    // A version number that was damaged downwards names a state of the past with the digest of another.
    expect(["rollback_detected", "invalid_request"]).toContain(outcome);
  }
});

describe("with an anchor location", () => {
  test("removing the newest manifest is found by a process that never saw it", async () => {
    const anchors = createMemoryStore();
    const { store, indexKey } = await history(3, anchors);
    const [newest] = (await store.list("index/")).filter((name) => name.includes("/manifest/"));
    await store.delete([newest]);
    expect(await codeOf(open(store).loadIndex({ indexName, indexKey }))).toBe("done");
    expect(await codeOf(open(store, anchors).loadIndex({ indexName, indexKey }))).toBe("rollback_detected");
  });

  test("every older state of the whole storage is refused, by new processes and by those that are open", async () => {
    const anchors = createMemoryStore();
    const { store, indexKey, states } = await history(5, anchors);
    const now = await contentOf(store);
    for (const state of states.slice(0, -1)) {
      await restore(store, now);
      const reader = await open(store, anchors).loadIndex({ indexName, indexKey });
      expect(await reader.count()).toBe(5);
      await restore(store, state);
      expect(await codeOf(open(store, anchors).loadIndex({ indexName, indexKey }))).toBe("rollback_detected");
    }
    await restore(store, now);
    expect(await codeOf(open(store, anchors).loadIndex({ indexName, indexKey }))).toBe("done");
  });

  test("a process that is shown an old state while another writes finds out with its next read", async () => {
    const anchors = createMemoryStore();
    const { store, indexKey } = await history(2, anchors);
    const old = createMemoryStore();
    await restore(old, await contentOf(store));
    const shown = await open(old, anchors).loadIndex({ indexName, indexKey });
    expect(await shown.count()).toBe(2);
    const writer = await open(store, anchors).loadIndex({ indexName, indexKey });
    await writer.upsert([{ id: "new", vector: [0, 0] }]);
    expect(await codeOf(shown.query({ queryVector: [1, 1] }))).toBe("rollback_detected");
  });

  test("of two forks only one can commit", async () => {
    const anchors = createMemoryStore();
    const { store, indexKey } = await history(2, anchors);
    const copy = createMemoryStore();
    await restore(copy, await contentOf(store));
    const sides = await Promise.all(
      [store, copy].map((each) => open(each, anchors).loadIndex({ indexName, indexKey })),
    );
    const outcomes: string[] = [];
    for (const [i, side] of sides.entries()) {
      outcomes.push(await codeOf(side.upsert([{ id: `side ${i}`, vector: [i, i] }])));
    }
    expect(outcomes).toEqual(["done", "rollback_detected"]);
  });

  test("the caller's own anchor is proven as well, even if the anchors kept are newer", async () => {
    const { store, indexKey, states, tokens } = await history(3);
    const anchors = createMemoryStore();
    await restore(store, states[2]);
    const fork = await open(store, anchors).loadIndex({ indexName, indexKey });
    for (let i = 0; i < 3; i++) {
      await fork.upsert([{ id: `fork ${i}`, vector: [i, i] }]);
      const outcomes = tokens.map((anchor) =>
        codeOf(open(store, anchors).loadIndex({ indexName, indexKey, anchor })),
      );
      expect(await Promise.all(outcomes)).toEqual(["done", "done", "done", "rollback_detected"]);
    }
  });

  test("a deleted index, or an older one of the same name and key, does not come back", async () => {
    const anchors = createMemoryStore();
    const { store, indexKey } = await history(2, anchors);
    const older = await contentOf(store);
    await open(store, anchors).deleteIndex({ indexName, indexKey });
    const load = () => codeOf(open(store, anchors).loadIndex({ indexName, indexKey }));
    expect(await load()).toBe("not_found");
    await restore(store, older);
    expect(await load()).toBe("rollback_detected");
    await restore(store, new Map());
    const next = await open(store, anchors).createIndex({ indexName, indexKey });
    await next.upsert([{ id: "next", vector: [1, 1] }]);
    expect(await load()).toBe("done");
    await restore(store, older);
    expect(await load()).toBe("rollback_detected");
  });

  test("many processes write and read at once, and none is refused", async () => {
    const anchors = createMemoryStore();
    const { store, indexKey } = await history(1, anchors);
    const indexes = await Promise.all(
      Array.from({ length: 4 }, () => open(store, anchors).loadIndex({ indexName, indexKey })),
    );
    await Promise.all(
      indexes.map(async (index, i) => {
        for (let j = 0; j < 40; j++) {
          await index.upsert([{ id: `${i} ${j}`, vector: [i, j] }]);
          await index.query({ queryVector: [i, j] });
        }
      }),
    );
    expect(await indexes[0].count()).toBe(161);
    // Old anchors are deleted as new ones come.
    expect((await anchors.list("")).length).toBeLessThan(200);
  });

  test("an index that was there before anchors were kept is anchored by its next commit", async () => {
    const { store, indexKey } = await history(2);
    const anchors = createMemoryStore();
    const before = await contentOf(store);
    const index = await open(store, anchors).loadIndex({ indexName, indexKey });
    expect(await anchors.list("")).toEqual([]);
    await index.upsert([{ id: "new", vector: [1, 1] }]);
    await restore(store, before);
    expect(await codeOf(open(store, anchors).loadIndex({ indexName, indexKey }))).toBe("rollback_detected");
  });

  test("a commit is acknowledged only once it is anchored", async () => {
    const anchors = createMemoryStore();
    const { store, indexKey } = await history(1, anchors);
    const failing: BlobStore = {
      ...anchors,
      create: async () => {
        throw new SealdexError("storage_unavailable", "the anchor location is gone");
      },
    };
    const index = await open(store, failing).loadIndex({ indexName, indexKey });
    expect(await codeOf(index.upsert([{ id: "new", vector: [1, 1] }]))).toBe("storage_unavailable");
    // It may have been stored all the same, whole; then the next process continues from there.
    const next = await open(store, anchors).loadIndex({ indexName, indexKey });
    await next.upsert([{ id: "next", vector: [1, 1] }]);
    expect(await next.count()).toBe(3);
  });
});

test("over HTTP an anchor refuses an older state as well", async () => {
  const store = createMemoryStore();
  const service = await startService({ indexLocation: store });
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const indexKey = generateKey();
  const index = await client.createIndex({ indexName, indexKey });
  await index.upsert([{ id: "a", vector: [1, 2] }]);
  const old = await contentOf(store);
  await index.upsert([{ id: "b", vector: [1, 2] }]);
  const anchor = await index.anchor();
  expect(await codeOf(client.loadIndex({ indexName, indexKey, anchor }))).toBe("done");
  await service.close();

  await restore(store, old);
  const again = await startService({ indexLocation: store });
  const restarted = createClient({ baseUrl: again.baseUrl, apiKey: again.apiKey });
  expect(await codeOf(restarted.loadIndex({ indexName, indexKey, anchor }))).toBe("rollback_detected");
  expect(await codeOf(restarted.loadIndex({ indexName, indexKey, anchor: "x" }))).toBe("invalid_request");
  await again.close();
});
