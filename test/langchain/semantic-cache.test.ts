import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel, FakeLLM } from "@langchain/core/utils/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  createClient,
  EncryptedSemanticCache,
  EncryptedVectorStore,
  generateKey,
  LexicalEmbeddings,
  type SemanticCacheOptions,
} from "../../src/index.js";

let store: EncryptedVectorStore;
beforeEach(() => {
  store = new EncryptedVectorStore(new LexicalEmbeddings(), {
    indexName: "cache",
    indexKey: generateKey(),
    client: createClient({ indexLocation: { location: "memory" } }),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const cacheOf = (options?: SemanticCacheOptions) => new EncryptedSemanticCache(store, options);
const answer = (text: string) => [{ text }];

test("gives the answer to the nearest question above the threshold", async () => {
  const cache = cacheOf({ scoreThreshold: 0.8 });
  expect(await cache.lookup("What is the capital of France?", "model")).toBeNull();
  await cache.update("What is the capital of France?", "model", answer("Paris"));
  await cache.update("How do salmon find their river?", "model", answer("By smell"));
  expect(await cache.lookup("What is the capital of France?", "model")).toEqual(answer("Paris"));
  expect(await cache.lookup("what is the capital of france", "model")).toEqual(answer("Paris"));
  expect(await cache.lookup("How do salmon find the river?", "model")).toEqual(answer("By smell"));
  expect(await cache.lookup("Who wrote Hamlet?", "model")).toBeNull();
  expect(await cacheOf({ scoreThreshold: 1 }).lookup("How do salmon find the river?", "model")).toBeNull();
  expect(await cacheOf({ scoreThreshold: 0 }).lookup("Who wrote Hamlet?", "model")).not.toBeNull();
});

test("compares the last message alone, after exactly the same messages before it", async () => {
  const cache = cacheOf();
  const system = (text: string) => `System: ${text}\nHuman: `;
  const long = system("You are a careful assistant who answers in one sentence, politely. ".repeat(20));
  await cache.update(`${long}What is the capital of France?`, "model", answer("Paris"));
  expect(await cache.lookup(`${long}what is the capital of France`, "model")).toEqual(answer("Paris"));
  expect(await cache.lookup(`${long}What is the capital of Spain?`, "model")).toBeNull();
  const other = system("Answer in French.");
  expect(await cache.lookup(`${other}What is the capital of France?`, "model")).toBeNull();
  const history = `${long}Hello\nAI: Hello!\nHuman: `;
  expect(await cache.lookup(`${history}What is the capital of France?`, "model")).toBeNull();
  await cache.update(`${history}Line one\nand line two?`, "model", answer("both"));
  expect(await cache.lookup(`${history}line one\nand line two`, "model")).toEqual(answer("both"));
  // A text without messages is compared by its last line.
  await cache.update("Translate to French:\nGood day\n", "model", answer("Bonjour"));
  expect(await cache.lookup("Translate to French:\ngood day!\n", "model")).toEqual(answer("Bonjour"));
  expect(await cache.lookup("Translate to German:\nGood day\n", "model")).toBeNull();
});

test("looks past the nearest question if that has another number", async () => {
  const cache = cacheOf({ scoreThreshold: 0.5 });
  await cache.update("What does error E1047 mean?", "model", answer("full"));
  await cache.update("What does the error called E1048 mean?", "model", answer("broken"));
  expect(await cache.lookup("What does error E1048 mean?", "model")).toEqual(answer("broken"));
});

test("prefers the answer to the same question among those that the model reads alike", async () => {
  const cache = cacheOf({ scoreThreshold: 0.8 });
  const questions = ["Is IT Paris?", "Is it Paris?", "Is it paris?"];
  for (const question of questions) await cache.update(question, "model", answer(question));
  for (const question of questions) {
    expect(await cache.lookup(question, "model")).toEqual(answer(question));
  }
});

test("keeps no answer to a message of images alone, and compares the end of a long one", async () => {
  const cache = cacheOf();
  await cache.update("System: Describe it.\nHuman: ", "model", answer("a heron"));
  expect(await cache.lookup("System: Describe it.\nHuman: ", "model")).toBeNull();
  const long = (first: string) => `Human: ${first} ${"word ".repeat(10_000)}`;
  await cache.update(long("Summarize"), "model", answer("short"));
  expect(await cache.lookup(long("Summarize"), "model")).toEqual(answer("short"));
  expect(await cache.lookup(long("Translate"), "model")).toBeNull();
});

test("keeps models apart, and replaces the cached answer of the same prompt", async () => {
  const cache = cacheOf();
  await cache.update("a question", "model a", answer("from a"));
  await cache.update("a question", "model b", answer("from b"));
  await cache.update("a question", "model a", answer("from a, later"));
  expect(await cache.lookup("a question", "model a")).toEqual(answer("from a, later"));
  expect(await cache.lookup("a question", "model b")).toEqual(answer("from b"));
  expect(await cache.lookup("a question", "model c")).toBeNull();
});

test("forgets after its time, and deletes forgotten answers on demand", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  const cache = cacheOf({ ttlSeconds: 60 });
  await cache.update("a question", "model", answer("yes"));
  await cacheOf().update("a lasting question", "model", answer("always"));
  vi.setSystemTime(1_059_999);
  expect(await cache.lookup("a question", "model")).toEqual(answer("yes"));
  await cache.deleteExpired();
  vi.setSystemTime(1_060_000);
  expect(await cache.lookup("a question", "model")).toBeNull();
  expect(await cache.lookup("a lasting question", "model")).toEqual(answer("always"));
  expect(await store.similaritySearch("question", 9)).toHaveLength(2);
  await cache.deleteExpired();
  expect(await store.similaritySearch("question", 9)).toHaveLength(1);
});

test("saves a language model the second call, and a chat model's messages come back whole", async () => {
  const cache = cacheOf();
  let calls = 0;
  class CountingLLM extends FakeLLM {
    override async _call(): Promise<string> {
      return `answer ${++calls}`;
    }
  }
  const llm = new CountingLLM({ cache });
  expect(await llm.invoke("What is encrypted search?")).toBe("answer 1");
  expect(await llm.invoke("What is encrypted search?")).toBe("answer 1");
  expect(await llm.invoke("An altogether different thing")).toBe("answer 2");
  const chat = new FakeListChatModel({ responses: ["first", "second"], cache });
  const message = new HumanMessage("Who goes there?");
  expect((await chat.invoke([message])).content).toBe("first");
  const cached = await chat.invoke([message]);
  expect(cached.content).toBe("first");
  expect(cached.getType()).toBe("ai");
  const toolCalls = [{ name: "search", args: { q: "x" }, id: "1", type: "tool_call" as const }];
  const generation = { text: "", message: new AIMessage({ content: "", tool_calls: toolCalls }) };
  await cache.update("tools", "model", [generation]);
  const [found] = (await cache.lookup("tools", "model")) as (typeof generation)[];
  expect(found.message.tool_calls).toEqual(toolCalls);
});

test("refuses options that cannot be meant", () => {
  for (const options of [{ scoreThreshold: 2 }, { scoreThreshold: Number.NaN }, { ttlSeconds: 0 }]) {
    expect(() => cacheOf(options)).toThrow(/expected a number/);
  }
});
