import { inspect } from "node:util";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type Checkpoint,
  emptyCheckpoint,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { afterAll, describe, expect, test } from "vitest";
import { type BlobStore, copyIndex, createClient, generateKey } from "../../src/core.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { threadDigest } from "../../src/langchain/langgraph/saver-rows.js";
import { decodeValue } from "../../src/langchain/langgraph/value-with-bytes.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { startService } from "../http/service.js";
import { codeOf } from "../outcome.js";
import { whole } from "../ranges.js";

const service = await startService();
afterAll(() => service.close());

const indexName = "threads";
const indexKey = generateKey();
const open = (store: BlobStore) => new EncryptedSaver({ indexName, indexKey, indexLocation: store });
const thread = (id: string, checkpointId?: string) => ({
  configurable: { thread_id: id, ...(checkpointId !== undefined && { checkpoint_id: checkpointId }) },
});
const about = (step: number) => ({ source: "loop", step, parents: {} }) as const;

const isSecret = (key: string) => key.includes("/group/");

let step = 0;
function checkpointOf(values: Record<string, unknown>): Checkpoint {
  return { ...emptyCheckpoint(), id: uuid6(step++ % 16_000), channel_values: values };
}

async function putState(saver: EncryptedSaver, id: string, values: Record<string, unknown>) {
  const before = await saver.getTuple(thread(id));
  const parent = before?.checkpoint.id;
  return saver.put(thread(id, parent), checkpointOf(values), about(step));
}

async function valuesOf(saver: EncryptedSaver, id: string) {
  return (await saver.getTuple(thread(id)))?.checkpoint.channel_values;
}

describe("state", () => {
  test("comes back as it was: messages, bytes and built-in types, of any size", async () => {
    const saver = open(createMemoryStore());
    const image = Uint8Array.from({ length: 300_000 }, (_byte, i) => (i * 31) % 251);
    const values = {
      messages: [
        new HumanMessage({ content: [{ type: "text", text: "héllo" }], id: "1" }),
        new AIMessage({
          content: "",
          tool_calls: [{ name: "f", args: { a_b: 1 }, id: "c", type: "tool_call" }],
        }),
        new ToolMessage({ content: "r", tool_call_id: "c", status: "error" }),
      ],
      map: new Map([["a", new Set([1])]]),
      pattern: /a+/gi,
      failure: new Error("why"),
      nothing: [undefined, null],
      long: "long ".repeat(600_000),
    };
    await putState(saver, "one", { ...values, image });
    const restored = await valuesOf(saver, "one");
    const { image: restoredImage, ...others } = restored as typeof values & { image: Uint8Array };
    expect(others).toEqual(values);
    expect(Buffer.compare(restoredImage, image)).toBe(0);
    expect(others.messages.map((message) => message.constructor)).toEqual([
      HumanMessage,
      AIMessage,
      ToolMessage,
    ]);
    await saver.stop();
  });

  test("names of other classes stay data, wherever they are", async () => {
    const saver = open(createMemoryStore());
    const prompt = {
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "prompts", "prompt", "PromptTemplate"],
      kwargs: { template: "{a}", inputVariables: ["a"] },
    };
    const values = {
      prompt,
      builtIn: { lc: 2, type: "constructor", id: ["Function"], args: ["return 1"], method: null, kwargs: {} },
      messages: [new HumanMessage({ content: "x", additional_kwargs: { prompt } as never })],
      own: JSON.parse('{"__proto__":{"polluted":true}}') as object,
      secret: { lc: 1, type: "secret", id: ["PATH"] },
    };
    await putState(saver, "one", values);
    const restored = (await valuesOf(saver, "one")) ?? {};
    expect(restored.prompt).toEqual(prompt);
    expect(restored.builtIn).toEqual(values.builtIn);
    expect(restored.secret).toEqual(values.secret);
    const [message] = restored.messages as HumanMessage[];
    expect(message).toBeInstanceOf(HumanMessage);
    expect(message.additional_kwargs.prompt).toEqual(prompt);
    expect((restored.own as { polluted?: boolean }).polluted).toBeUndefined();
    expect(Object.hasOwn(restored.own as object, "__proto__")).toBe(true);
    await saver.stop();
  });
});

describe("several processes", () => {
  test("work on one new thread at the same time", async () => {
    const store = createMemoryStore();
    const savers = [open(store), open(store), open(store)];
    await savers[0].setup();
    await Promise.all(
      savers.map(async (saver, i) => {
        for (let n = 0; n < 5; n++) {
          const config = await saver.put(thread("shared"), checkpointOf({ by: i, n }), about(n));
          await saver.putWrites(config, [["channel", { by: i, n }]], `task ${i}`);
        }
      }),
    );
    for (const saver of [...savers, open(store)]) {
      const found: unknown[] = [];
      for await (const { checkpoint, pendingWrites } of saver.list(thread("shared"))) {
        expect(pendingWrites?.map(([, , value]) => value)).toEqual([checkpoint.channel_values]);
        found.push(checkpoint.id);
      }
      expect(found).toHaveLength(15);
      expect(found).toEqual([...found].sort().reverse());
      await saver.stop();
    }
  });

  test("a thread that another process deletes begins again, whatever is remembered of it", async () => {
    const store = createMemoryStore();
    const [a, b] = [open(store), open(store)];
    await putState(a, "one", { n: 1 });
    await putState(a, "other", { n: 1 });
    expect(await valuesOf(b, "one")).toEqual({ n: 1 });
    await putState(b, "one", { n: 2 });
    await a.deleteThread("one");
    expect(await valuesOf(b, "one")).toBeUndefined();
    await b.put(thread("one"), checkpointOf({ n: 3 }), about(3));
    await b.put(thread("other"), checkpointOf({ n: 3 }), about(3));
    for (const saver of [a, b, open(store)]) {
      expect(await valuesOf(saver, "one")).toEqual({ n: 3 });
      expect(await valuesOf(saver, "other")).toEqual({ n: 3 });
      let count = 0;
      for await (const _ of saver.list(thread("one"))) count++;
      expect(count).toBe(1);
    }
    // A thread that is not there.
    await a.deleteThread("never");
    await Promise.all([a.stop(), b.stop()]);
  });

  test("a process whose reads may be stale deletes all the same", async () => {
    const store = createMemoryStore();
    const a = open(store);
    const b = new EncryptedSaver({ indexName, indexKey, indexLocation: store, maxStalenessMs: 3_600_000 });
    await putState(a, "other", { n: 1 });
    expect(await valuesOf(b, "one")).toBeUndefined();
    await putState(a, "one", { n: 1 });
    expect(await valuesOf(b, "one")).toBeUndefined();
    await b.deleteThread("one");
    expect(await valuesOf(a, "one")).toBeUndefined();
    expect((await store.list("")).filter(isSecret)).toHaveLength(1);
    await Promise.all([a.stop(), b.stop()]);
  });

  test("puts that race a deletion are deleted or readable for all, never under a secret that is gone", async () => {
    const store = createMemoryStore();
    const [a, b] = [open(store), open(store)];
    for (let round = 0; round < 15; round++) {
      await putState(a, "one", { round });
      await valuesOf(b, "one");
      await Promise.all([
        b.put(thread("one"), checkpointOf({ round, late: true }), about(1)),
        b.put(thread("other"), checkpointOf({ round }), about(1)),
        a.deleteThread("one"),
      ]);
      const fresh = open(store);
      const found = await Promise.all([a, b, fresh].map((saver) => valuesOf(saver, "one")));
      expect(found[1]).toEqual(found[0]);
      expect(found[2]).toEqual(found[0]);
      if (found[0] !== undefined) expect(found[0]).toEqual({ round, late: true });
      expect(await valuesOf(fresh, "other")).toEqual({ round });
    }
    await Promise.all([a.stop(), b.stop()]);
  });
});

/** All blobs whose keys a condition accepts. */
async function blobsOf(store: BlobStore, accepts = (_key: string) => true) {
  const keys = (await store.list("")).filter(accepts);
  return Promise.all(keys.map(async (key) => [key, (await store.read(key, whole)) as Uint8Array] as const));
}

async function storeOf(blobs: Iterable<readonly [string, Uint8Array]>): Promise<BlobStore> {
  const store = createMemoryStore();
  for (const [key, bytes] of blobs) await store.create(key, bytes);
  return store;
}

describe("a deleted thread", () => {
  test("is in no copy of everything but its secret, with the index key; a copy with that secret opens it", async () => {
    const store = createMemoryStore();
    const saver = open(store);
    for (const id of ["gone", "kept"]) {
      for (let n = 0; n < 4; n++) {
        const config = await putState(saver, id, { canary: `canary of ${id}`, n });
        await saver.putWrites(config, [["canary channel", `canary write of ${id}`]], "canary task");
      }
    }
    const before = await blobsOf(store);
    await saver.deleteThread("gone");
    expect((await store.list("")).filter(isSecret)).toHaveLength(1);
    const left = await blobsOf(store, isSecret);
    const copy = open(await storeOf([...before.filter(([key]) => !isSecret(key)), ...left]));
    expect(await codeOf(copy.getTuple(thread("gone")))).toBe("missing_object");
    expect(await valuesOf(copy, "kept")).toMatchObject({ canary: "canary of kept" });
    await copy.stop();

    // The whole index, by the library itself.
    const client = createClient({ indexLocation: await storeOf(before.filter(([key]) => !isSecret(key))) });
    const index = await client.loadIndex({ indexName, indexKey });
    let items = 0;
    for await (const item of index.items()) {
      const bytes = Buffer.from(item.contents?.split(",")[1] ?? "", "base64").toString("latin1");
      expect(`${JSON.stringify(item)} ${bytes}`).not.toMatch(/canary|gone|kept/);
      items++;
    }
    expect(items).toBe(16);
    await client.close();

    const withSecret = open(await storeOf(before));
    expect(await valuesOf(withSecret, "gone")).toMatchObject({ canary: "canary of gone" });
    await Promise.all([withSecret.stop(), saver.stop()]);
  });

  test("stays deleted if the call is repeated after an interruption", async () => {
    const store = createMemoryStore();
    let fails = false;
    const failing: BlobStore = {
      read: (...call) => store.read(...call),
      create: (...call) => store.create(...call),
      list: (...call) => store.list(...call),
      close: () => store.close(),
      delete: (keys, options) =>
        fails && keys.some(isSecret) ? Promise.reject(new Error("down")) : store.delete(keys, options),
    };
    const saver = open(failing);
    await putState(saver, "one", { n: 1 });
    fails = true;
    await expect(saver.deleteThread("one")).rejects.toThrow();
    expect(await valuesOf(saver, "one")).toBeUndefined();
    expect((await store.list("")).filter(isSecret)).toHaveLength(1);
    fails = false;
    await open(failing).deleteThread("one");
    expect((await store.list("")).filter(isSecret)).toHaveLength(0);
  });
});

test("copies of an index have the secrets of its threads, and a deleted index leaves none", async () => {
  const [store, target] = [createMemoryStore(), createMemoryStore()];
  const saver = open(store);
  await putState(saver, "one", { n: 1 });
  await copyIndex({ indexName, indexKey, from: { indexLocation: store }, to: { indexLocation: target } });
  const copy = open(target);
  expect(await valuesOf(copy, "one")).toEqual({ n: 1 });
  await saver.deleteThread("one");
  expect(await valuesOf(copy, "one")).toEqual({ n: 1 });
  const client = createClient({ indexLocation: target });
  await client.deleteIndex({ indexName, indexKey });
  expect((await target.list("")).filter(isSecret)).toEqual([]);
  await Promise.all([saver.stop(), copy.stop(), client.close()]);
});

test("keys rotated and objects sealed again, a thread opens and can be deleted", async () => {
  const store = createMemoryStore();
  const saver = open(store);
  await putState(saver, "one", { n: 1 });
  const client = createClient({ indexLocation: store });
  await (await client.loadIndex({ indexName, indexKey })).reencrypt();
  const later = open(store);
  expect(await valuesOf(later, "one")).toEqual({ n: 1 });
  await putState(later, "one", { n: 2 });
  expect(await valuesOf(saver, "one")).toEqual({ n: 2 });
  await later.deleteThread("one");
  expect(await valuesOf(saver, "one")).toBeUndefined();
  await Promise.all([saver.stop(), later.stop(), client.close()]);
});

test("getTuple reads the newest of 500 steps, not all", async () => {
  const store = createMemoryStore();
  const saver = open(store);
  let parent: string | undefined;
  for (let n = 0; n < 500; n++) {
    const config = thread("long", parent);
    const checkpoint = checkpointOf({ n, text: String(n).repeat(2000) });
    parent = checkpoint.id;
    await saver.put(config, checkpoint, about(n));
  }
  let read = 0;
  const counted: BlobStore = {
    ...store,
    async read(...call) {
      const bytes = await store.read(...call);
      read += bytes?.length ?? 0;
      return bytes;
    },
    create: (...call) => store.create(...call),
    list: (...call) => store.list(...call),
    delete: (...call) => store.delete(...call),
    close: () => store.close(),
  };
  const cold = open(counted);
  await cold.setup();
  read = 0;
  expect(await valuesOf(cold, "long")).toMatchObject({ n: 499 });
  // All states have 2.7 MB.
  expect(read).toBeLessThan(100_000);
  await Promise.all([saver.stop(), cold.stop()]);
});

test("the history of channels is LangGraph's own, of a branch too, and takes few reads", async () => {
  const store = createMemoryStore();
  const saver = open(store);
  const put = async (parent: RunnableConfig, n: number, values: Record<string, unknown> = {}) => {
    const config = await saver.put(parent, checkpointOf(values), about(n));
    await saver.putWrites(
      config,
      [
        ["delta", n],
        ["other", `${n}`],
      ],
      "task",
    );
    return config;
  };
  let main = await put(thread("deep"), 0, { other: "seed" });
  let branch = main;
  for (let n = 1; n < 100; n++) {
    main = await put(main, n);
    if (n % 3 === 0) branch = await put(branch, 1000 + n);
  }
  let looks = 0;
  const counted: BlobStore = {
    read: (...call) => {
      looks += call[0].includes("/manifest/") ? 1 : 0;
      return store.read(...call);
    },
    create: (...call) => store.create(...call),
    list: (...call) => store.list(...call),
    delete: (...call) => store.delete(...call),
    close: () => store.close(),
  };
  const another = open(counted);
  await another.setup();
  for (const config of [main, branch]) {
    const options = { config, channels: ["delta", "other", "none"] };
    looks = 0;
    const found = await another.getDeltaChannelHistory(options);
    expect(looks).toBeLessThan(20);
    expect(found).toEqual(await BaseCheckpointSaver.prototype.getDeltaChannelHistory.call(saver, options));
    expect(found.other.seed).toBe("seed");
    expect(found.delta.writes.length).toBe(config === main ? 99 : 33);
  }
  await Promise.all([saver.stop(), another.stop()]);
});

test("a checkpoint that was put again with its own config is its own ancestor once", async () => {
  const saver = open(createMemoryStore());
  const config = await putState(saver, "one", { n: 1 });
  await saver.putWrites(config, [["delta", "write"]], "task");
  await saver.put(config, (await saver.getTuple(config))?.checkpoint as Checkpoint, about(0));
  const options = { config, channels: ["delta"] };
  expect((await saver.getDeltaChannelHistory(options)).delta.writes).toEqual([]);
  const child = await putState(saver, "one", { n: 2 });
  const found = await saver.getDeltaChannelHistory({ ...options, config: child });
  expect(found.delta.writes).toEqual([["task", "delta", "write"]]);
  const listed: unknown[] = [];
  for await (const { checkpoint } of saver.list(thread("one", ""))) listed.push(checkpoint.channel_values.n);
  expect(listed).toEqual([2, 1]);
  await saver.stop();
});

describe("items that another writer stores in the place of a thread's", () => {
  const prefix = `t/${threadDigest("one")}`;

  test.each([
    { secret: "../../../names", contents: "" },
    { secret: { $ne: "" }, contents: "" },
    { secret: "0".repeat(32), contents: "", stored: { state: "a", length: 1e15 } },
    { secret: "0".repeat(32), contents: "", stored: { state: "a", length: -1 } },
  ])("%j are refused", async ({ contents, ...metadata }) => {
    const store = createMemoryStore();
    const saver = open(store);
    await putState(saver, "one", { n: 1 });
    const client = createClient({ indexLocation: store });
    const index = await client.loadIndex({ indexName, indexKey });
    const [id] = await index.listIds({ after: prefix, limit: 1, namespace: "threads" });
    const item = { id, vector: [0], contents, metadata: { thread: threadDigest("one"), ...metadata } };
    await index.upsert([item], { namespace: "threads" });
    expect(["corrupt", "missing_object"]).toContain(await codeOf(saver.getTuple(thread("one"))));
    await Promise.all([saver.stop(), client.close()]);
  });

  test.each([
    '[{"a":null},[[["__proto__","polluted"],1]]]\nx',
    '[{"a":{}},[[["a","__proto__"],1]]]\nx',
    '[{"a":null},[[["a"],2]]]\nx',
    '[{"a":1},[[["a"],1]]]\nx',
    "[{}]\n",
    "{",
    "",
  ])("contents %j are corrupt", (text) => {
    expect(() => decodeValue(Buffer.from(text))).toThrow(/not as this library stores/);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

test("refuses ids that are none, and an index over HTTP", async () => {
  const saver = open(createMemoryStore());
  await expect(saver.put({}, checkpointOf({}), about(0))).rejects.toThrow(/thread_id/);
  await expect(saver.put(thread(""), checkpointOf({}), about(0))).rejects.toMatchObject({
    code: "invalid_request",
  });
  await expect(saver.putWrites(thread("a"), [["c", 1]], "t")).rejects.toThrow(/checkpoint_id/);
  await expect(saver.getTuple(thread("a", "~"))).rejects.toMatchObject({ code: "invalid_request" });
  expect(await saver.getTuple({})).toBeUndefined();
  expect(
    () =>
      new EncryptedSaver({ indexName, indexKey, indexLocation: createMemoryStore(), filter: {} } as never),
  ).toThrow(/filter is only for vector stores/);
  const { baseUrl, apiKey } = service;
  const client = createClient({ baseUrl, apiKey });
  for (const place of [{ baseUrl, apiKey }, { client }]) {
    expect(() => new EncryptedSaver({ indexName, indexKey, ...place } as never)).toThrow(
      /expected storage locations/,
    );
  }
  expect(inspect(saver, { depth: 9, showHidden: true })).not.toContain(indexKey);
  expect(JSON.stringify(saver)).toBe('"[EncryptedSaver]"');
  await Promise.all([saver.stop(), client.close()]);
});
