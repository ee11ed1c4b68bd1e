import { inspect } from "node:util";
import { InMemoryStore, type BaseStore, type Operation } from "@langchain/langgraph-checkpoint";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createClient, generateKey, LexicalEmbeddings } from "../../src/index.js";
import { EncryptedStore, type SemanticIndex } from "../../src/langchain/langgraph/encrypted-store.js";
import { startService } from "../http/service.js";

const service = await startService();
const client = createClient({ indexLocation: { location: "memory" } });
afterAll(() => Promise.all([service.close(), client.close()]));

const dims = 256;
const embeddings = new LexicalEmbeddings({ dimension: dims });
let made = 0;

function newStore(index?: SemanticIndex, place: object = { client }): EncryptedStore {
  const args = { indexName: `items ${made++}`, indexKey: generateKey(), ...place };
  return new EncryptedStore({ ...args, ...(index && { index }) } as never);
}

const address = (items: readonly { namespace: string[]; key: string }[]) =>
  items.map(({ namespace, key }) => [...namespace, key].join("/"));

describe.each([
  ["embedded", { client }],
  ["over HTTP", { baseUrl: service.baseUrl, apiKey: service.apiKey }],
])("a LangGraph store, %s", (_, place) => {
  test("puts, gets, replaces and deletes items", async () => {
    const store = newStore(undefined, place);
    expect(await store.get(["users", "1"], "prefs")).toBeNull();
    const value = { theme: "dark", nested: { list: [1, null, "ü"] }, "a.b": true };
    await store.put(["users", "1"], "prefs", value);
    const item = await store.get(["users", "1"], "prefs");
    expect(item).toMatchObject({ namespace: ["users", "1"], key: "prefs", value });
    expect(item?.createdAt).toEqual(item?.updatedAt);
    while (Date.now() <= (item?.updatedAt.getTime() ?? 0)) await new Promise(setImmediate);
    await store.put(["users", "1"], "prefs", { theme: "light" });
    const later = await store.get(["users", "1"], "prefs");
    expect(later?.value).toEqual({ theme: "light" });
    expect(later?.createdAt).toEqual(item?.createdAt);
    expect(later?.updatedAt.getTime()).toBeGreaterThan(item?.updatedAt.getTime() as number);
    await store.delete(["users", "1"], "prefs");
    await store.delete(["users", "1"], "never there");
    expect(await store.get(["users", "1"], "prefs")).toBeNull();
    expect(await store.search(["users"])).toEqual([]);
  });

  test("searches by words and meaning if it is created so: words that vectors hardly know come first", async () => {
    // Vectors that say nothing: whatever is found in an order, words have found.
    const alike = {
      embedDocuments: async (texts: string[]) => texts.map(() => [1, 0]),
      embedQuery: async () => [1, 0],
    };
    const store = newStore({ dims: 2, embeddings: alike, fields: ["note"], textIndex: true }, place);
    for (const [key, note] of [
      ["disk", "Error E1047: the disk is full"],
      ["files", "Delete old files"],
    ]) {
      await store.put(["notes"], key, { note });
    }
    await store.put(["notes"], "silent", { note: "Error E1047" }, false);
    const found = await store.search(["notes"], { query: "What is E1047?" });
    expect(address(found)).toEqual(["notes/disk", "notes/files", "notes/silent"]);
    expect(found[0].score).toBeGreaterThan(found[1].score as number);
    expect(found[2].score).toBeUndefined();
    expect(address(await store.search(["notes"], { query: "old files", limit: 1 }))).toEqual(["notes/files"]);
    await store.put(["notes"], "disk", { note: "Delete old files from the disk too" });
    const operators = { query: '+"too" -files' };
    const all = ["notes/files", "notes/disk", "notes/silent"];
    expect(address(await store.search(["notes"], operators))).toEqual(all);
    expect(address(await store.search(["notes"], { ...operators, syntax: "words" }))).toEqual(all);
    await store.put(["notes"], "other", { note: "too many" });
    const strict = { syntax: "query", limit: 1 } as const;
    expect(address(await store.search(["notes"], { ...operators, ...strict }))).toEqual(["notes/other"]);
    expect(await store.batch([{ namespacePrefix: ["notes"], ...operators, ...strict }])).toEqual([
      await store.search(["notes"], { ...operators, ...strict }),
    ]);
    const unknown = store.search(["notes"], { ...operators, syntax: "sql" as never });
    await expect(unknown).rejects.toThrow('syntax: expected "words" or "query"');
    await expect(store.search(["a", ""], strict)).rejects.toThrow("label");
  });

  test("a store that was created without a model says so to one that embeds, which reads and writes nothing", async () => {
    const named = { indexName: `items ${made++}`, indexKey: generateKey(), ...place };
    const plain = new EncryptedStore(named as never);
    await plain.put(["notes"], "1", { note: "Salmon swim upstream" });
    const semantic = new EncryptedStore({ ...named, index: { dims, embeddings } } as never);
    const refused = {
      code: "dimension_mismatch",
      message: `index.dims: expected 1, as the index was created with, got ${dims}; a store that was created without \`index\` has 1`,
    };
    await expect(semantic.put(["notes"], "2", { note: "Herons hunt" })).rejects.toMatchObject(refused);
    await expect(semantic.search(["notes"], { query: "salmon" })).rejects.toMatchObject(refused);
    expect(address(await plain.search([]))).toEqual(["notes/1"]);
  });

  test("a put names dims that are not those of the model, and stores nothing", async () => {
    const named = { indexName: `items ${made++}`, indexKey: generateKey(), ...place };
    const wrong = new EncryptedStore({ ...named, index: { dims: 1536, embeddings } } as never);
    await expect(wrong.put(["notes"], "1", { note: "Herons hunt" })).rejects.toMatchObject({
      code: "dimension_mismatch",
      message: `index.dims: expected ${dims}, the dimension of the model's vectors, got 1536`,
    });
    const right = new EncryptedStore({ ...named, index: { dims, embeddings } } as never);
    await right.put(["notes"], "2", { note: "Herons hunt" });
    expect(address(await right.search([], { query: "herons" }))).toEqual(["notes/2"]);
  });

  test("a store without a model lists, writes and deletes the items of one that has words and meaning", async () => {
    const named = { indexName: `items ${made++}`, indexKey: generateKey(), ...place };
    const meaning = { dims, embeddings, fields: ["note"] };
    const first = new EncryptedStore({ ...named, index: { ...meaning, textIndex: true } } as never);
    await first.put(["notes"], "1", { note: "Salmon swim upstream" });
    const plain = new EncryptedStore(named as never);
    await plain.put(["more"], "2", { note: "Herons hunt" });
    expect(address(await plain.search([], { query: "salmon" }))).toEqual(["more/2", "notes/1"]);
    expect(await plain.listNamespaces()).toEqual([["more"], ["notes"]]);
    await plain.delete(["more"], "2");
    const second = new EncryptedStore({ ...named, index: meaning } as never);
    await second.put(["notes"], "3", { note: "Error E1047" });
    for (const store of [first, second]) {
      expect(address(await store.search([], { query: "E1047", limit: 1 }))).toEqual(["notes/3"]);
      expect(await store.search([], { query: "+E1047", syntax: "query" })).toHaveLength(1);
    }
  });

  test("searches by meaning, each item once, however many of its texts are embedded", async () => {
    const store = newStore({ dims, embeddings, fields: ["title", "chapters[*].text"] }, place);
    await store.put(["books"], "fish", {
      title: "salmon and trout",
      chapters: [{ text: "salmon swim upstream" }, { text: "trout hide under stones" }],
    });
    await store.put(["books"], "birds", { title: "owls", chapters: [{ text: "owls hunt at night" }] });
    await store.put(["books"], "plain", { title: "salmon" }, false);
    const found = await store.search(["books"], { query: "salmon swim upstream" });
    expect(address(found)).toEqual(["books/fish", "books/birds", "books/plain"]);
    expect(found[0].score).toBeCloseTo(1, 5);
    expect(found[1].score).toBeLessThan(found[0].score as number);
    expect(found[2].score).toBeUndefined();
    // A later state has fewer texts: those of the earlier one are gone.
    await store.put(["books"], "fish", { title: "trout" });
    const [first] = await store.search(["books"], { query: "salmon swim upstream", limit: 1 });
    expect(first.score).toBeLessThan(0.9);
    await store.delete(["books"], "fish");
    expect(address(await store.search(["books"], { query: "trout" }))).toEqual([
      "books/birds",
      "books/plain",
    ]);
  });

  test("keeps values of several MiB and bytes, finds them by filters, and leaves nothing of replaced ones", async () => {
    const named = { indexName: `items ${made++}`, indexKey: generateKey() };
    const semantic = { dims, embeddings, textIndex: true, fields: ["title"] };
    const store = new EncryptedStore({ ...named, ...place, index: semantic } as never);
    const lines = Array.from({ length: 40_000 }, (_line, i) => `line ${i} of a large file, café`);
    const image = Uint8Array.from({ length: 2_000_000 }, (_byte, i) => (i * 31) % 251);
    const large = {
      title: "A large file",
      content: lines,
      kind: "text",
      parts: [{ image }, { image: new Uint8Array(0) }],
    };
    const small = { content: Buffer.from([0, 255, 10]), kind: "bytes" };
    await store.batch([
      { namespace: ["files"], key: "large", value: large },
      { namespace: ["files"], key: "small", value: small },
      { namespace: ["files"], key: "plain", value: { kind: "text" } },
    ]);
    // Comparing element by element takes seconds.
    const texts = (value: unknown) =>
      JSON.stringify(value, (_key, part: unknown) =>
        part instanceof Uint8Array ? Buffer.from(part).toString("base64") : part,
      );
    expect(texts((await store.get(["files"], "large"))?.value) === texts(large)).toBe(true);
    expect((await store.get(["files"], "small"))?.value).toEqual({
      content: Uint8Array.of(0, 255, 10),
      kind: "bytes",
    });
    const filter = { kind: "text" };
    expect(address(await store.search(["files"], { filter })).sort()).toEqual(["files/large", "files/plain"]);
    expect(address(await store.search(["files"], { filter: { kind: "bytes" } }))).toEqual(["files/small"]);
    const byWords = await store.search(["files"], { filter, query: "large", limit: 1 });
    expect(byWords.map(({ value }) => texts(value) === texts(large))).toEqual([true]);

    await store.put(["files"], "large", { kind: "none" }, false);
    await store.delete(["files"], "small");
    expect((await store.get(["files"], "large"))?.value).toEqual({ kind: "none" });
    const index = await ("client" in place ? client : createClient(place)).loadIndex(named);
    expect(await index.count()).toBe(2);
  }, 60_000);

  test("refuses limits and offsets that are none, and values beyond 16 MiB", async () => {
    const store = newStore(undefined, place);
    const refused = { code: "invalid_request" };
    for (const page of [{ limit: -1 }, { limit: 1.5 }, { offset: -1 }, { offset: NaN }]) {
      await expect(store.search(["a"], page)).rejects.toMatchObject(refused);
      await expect(store.listNamespaces(page)).rejects.toMatchObject(refused);
    }
    const content = new Uint8Array(16 * 1024 * 1024);
    await expect(store.put(["a"], "k", { content })).rejects.toThrow(
      /value: expected at most 16777216 bytes/,
    );
    await expect(store.put(["a"], "k", content as never)).rejects.toMatchObject(refused);
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    await expect(store.put(["a"], "k", cyclic)).rejects.toThrow(/a cycle/);
    expect(await store.get(["a"], "k")).toBeNull();
  });
});

/** LangGraph's own store and ours, filled alike. */
async function bothFilled(): Promise<BaseStore[]> {
  const ours = newStore({ dims, embeddings });
  const theirs = new InMemoryStore({ index: { dims, embeddings } });
  for (const store of [ours, theirs]) {
    await store.put(["users", "1", "memories"], "a", { text: "likes pizza", stars: 5, kind: "food" });
    await store.put(["users", "1", "memories"], "b", { text: "plays football", stars: 3, kind: "sport" });
    await store.put(["users", "2", "memories"], "c", { text: "likes pasta", stars: 4, kind: "food" });
    await store.put(["users", "10"], "d", { text: "is a user", stars: 1 });
    await store.put(["docs", "v1"], "e", { text: "how to cook pizza", stars: 2, kind: "food" });
  }
  return [ours, theirs];
}

describe("as LangGraph's in-memory store does", () => {
  test.each<[string, string[], Parameters<BaseStore["search"]>[1]]>([
    ["everything", [], {}],
    ["a prefix of labels, not of letters", ["users", "1"], {}],
    ["nothing under an unknown prefix", ["nobody"], {}],
    ["equal fields", ["users"], { filter: { kind: "food" } }],
    ["operators", [], { filter: { stars: { $gte: 2, $lt: 5 } } }],
    ["$ne and missing fields", [], { filter: { kind: { $ne: "food" } } }],
    ["several conditions", ["users"], { filter: { kind: "food", stars: { $gt: 4 } } }],
  ])("finds %s", async (_, prefix, options) => {
    const [ours, theirs] = await bothFilled();
    const [found, expected] = await Promise.all([
      ours.search(prefix, options),
      theirs.search(prefix, options),
    ]);
    expect(address(found).sort()).toEqual(address(expected).sort());
  });

  test("ranks by the same scores, with limit and offset", async () => {
    const [ours, theirs] = await bothFilled();
    for (const page of [{}, { limit: 2 }, { limit: 2, offset: 1 }, { limit: 0 }]) {
      const options = { query: "who likes pizza?", ...page };
      const [found, expected] = await Promise.all([ours.search([], options), theirs.search([], options)]);
      expect(address(found)).toEqual(address(expected));
      found.forEach(({ score }, i) => expect(score).toBeCloseTo(expected[i].score as number, 4));
    }
    const filtered = { query: "pizza", filter: { kind: "food" } };
    expect(address(await ours.search(["users"], filtered))).toEqual(
      address(await theirs.search(["users"], filtered)),
    );
  });

  test("lists namespaces", async () => {
    const [ours, theirs] = await bothFilled();
    for (const options of [
      {},
      { prefix: ["users"] },
      { suffix: ["memories"] },
      { prefix: ["users", "*"], suffix: ["memories"] },
      { maxDepth: 1 },
      { prefix: ["users"], maxDepth: 2, limit: 1, offset: 1 },
    ]) {
      const [found, expected] = await Promise.all([
        ours.listNamespaces(options),
        theirs.listNamespaces(options),
      ]);
      if (!("limit" in options)) expect(found.map(String).sort()).toEqual(expected.map(String).sort());
      expect(found).toHaveLength(expected.length);
    }
  });

  test("answers a batch in order, reading before it writes; of several puts the last wins", async () => {
    const [ours, theirs] = await bothFilled();
    const namespace = ["users", "2", "memories"];
    const operations: Operation[] = [
      { namespace, key: "c" },
      { namespace, key: "c", value: { text: "first" } },
      { namespace, key: "c", value: { text: "second" } },
      { namespacePrefix: ["docs"], limit: 5 },
      { namespace: ["users", "10"], key: "d", value: null },
      { matchConditions: [{ matchType: "prefix", path: ["docs"] }], limit: 5, offset: 0 },
    ];
    for (const store of [ours, theirs]) {
      const results = await store.batch(operations);
      expect(results).toMatchObject([
        // LangGraph's gives the object itself, which its later put changes.
        { key: "c", value: { text: store === ours ? "likes pasta" : "second" } },
        null,
        null,
        [{ key: "e" }],
        null,
        [["docs", "v1"]],
      ]);
      expect((await store.get(namespace, "c"))?.value).toEqual({ text: "second" });
      expect(await store.get(["users", "10"], "d")).toBeNull();
    }
  });

  test("refuses namespaces that are none", async () => {
    const store = newStore();
    await expect(store.put([], "k", {})).rejects.toThrow(/[Nn]amespace/);
    await expect(store.put(["a", ""], "k", {})).rejects.toThrow(/[Nn]amespace/);
    await expect(store.batch([{ namespace: [], key: "k", value: {} }])).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});

test("without a query, the latest updated come first", async () => {
  const store = newStore();
  for (const key of ["a", "b", "c"]) await store.put(["n"], key, { key });
  await store.put(["n"], "a", { key: "a again" });
  expect(address(await store.search(["n"]))).toEqual(["n/a", "n/c", "n/b"]);
  expect(address(await store.search(["n"], { limit: 1, offset: 1 }))).toEqual(["n/c"]);
});

describe("a filter of several filters", () => {
  const value = (i: number) => ({ i, odd: i % 2 === 1, author: { name: `n${i}` } });

  test.each<[Record<string, unknown>, number[]]>([
    [{ $or: [{ i: 1 }, { "author.name": "n3" }] }, [1, 3]],
    [{ $and: [{ odd: true }, { $nor: [{ i: 1 }] }] }, [3]],
    [{ $not: { i: { $gt: 1 } }, odd: false }, [0]],
    [{ $not: { $or: [{ i: 0 }, { odd: true }] } }, [2]],
    [{}, [0, 1, 2, 3]],
  ])("%j is about the fields of the value", async (filter, expected) => {
    const store = newStore({ dims, embeddings });
    for (const i of [0, 1, 2, 3]) await store.put(["n"], `${i}`, value(i));
    for (const query of [undefined, "n1"]) {
      const found = await store.search(["n"], { filter, ...(query !== undefined && { query }) });
      expect(found.map(({ key }) => Number(key)).sort()).toEqual(expected);
    }
  });

  test.each([{ $where: 1 }, { $or: { i: 1 } }, { $and: ["i"] }, { $not: [] }, { $or: [{ $near: 1 }] }])(
    "%j is refused",
    async (filter) => {
      const store = newStore();
      await store.put(["n"], "1", value(1));
      await expect(store.search(["n"], { filter })).rejects.toMatchObject({ code: "invalid_request" });
    },
  );
});

test.each([
  "title",
  "none.title",
  "tags[*]",
  "tags[0]",
  "tags[-1]",
  "chapters[*].text",
  "chapters.*.text",
  "chapters[*].by.name",
  "about.*",
  "{title,about.place}",
  "chapters[*].{text, by.name, }",
])("%s names the texts that it names for LangGraph's own store", async (path) => {
  const value = {
    title: "Otters",
    tags: ["river", 5, true, null],
    chapters: [{ text: "Food", by: { name: "Ann" } }, { text: "Sleep" }],
    about: { place: "Oslo", year: 1999 },
  };
  const embedded = async (store: (index: SemanticIndex) => BaseStore) => {
    const seen: string[] = [];
    const embedDocuments = async (texts: string[]) => {
      seen.push(...texts);
      return embeddings.embedDocuments(texts);
    };
    const embedQuery = (text: string) => embeddings.embedQuery(text);
    await store({ dims, embeddings: { embedDocuments, embedQuery }, fields: [path] }).put(["n"], "k", value);
    return seen.sort();
  };
  const expected = await embedded((index) => new InMemoryStore({ index: index as never }));
  expect(await embedded(newStore)).toEqual(expected);
});

test("a text instead of an array of paths is refused, since no search would find by its characters", async () => {
  expect(() => newStore({ dims, embeddings, fields: "note" as never })).toThrow(
    "index.fields: expected an array of paths, got string",
  );
  const put = newStore({ dims, embeddings }).put(["notes"], "1", { note: "Herons" }, "note" as never);
  await expect(put).rejects.toThrow("index: expected an array of paths, got string");
});

test("puts of two processes in one millisecond are told apart", async () => {
  const resume = new Map<string, () => void>();
  let bothHaveRead: () => void;
  const read = new Promise<void>((resolve) => (bothHaveRead = resolve));
  const held = {
    embedQuery: (text: string) => embeddings.embedQuery(text),
    // Both puts have read that there is no item before one of them writes.
    embedDocuments: async (texts: string[]) => {
      await new Promise<void>((resolve) => {
        if (resume.set(texts[0], resolve).size === 2) bothHaveRead();
      });
      return embeddings.embedDocuments(texts);
    },
  };
  const named = { indexName: `items ${made++}`, indexKey: generateKey(), client };
  const [first, second] = [0, 1].map(
    () => new EncryptedStore({ ...named, index: { dims, embeddings: held, fields: ["texts[*]"] } }),
  );
  expect(await first.get(["n"], "k")).toBeNull();
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const earlier = first.put(["n"], "k", { texts: ["red", "green"] });
    const later = second.put(["n"], "k", { texts: ["blue"] });
    await read;
    resume.get("red")?.();
    await earlier;
    resume.get("blue")?.();
    await later;
  } finally {
    vi.useRealTimers();
  }
  const found = await first.search(["n"], { query: "green" });
  expect(found.map(({ value }) => value)).toEqual([{ texts: ["blue"] }]);
});

test("the last of several puts at once is found by all its texts, whatever the others replaced", async () => {
  const store = newStore({ dims, embeddings, fields: ["texts[*]"] });
  await store.put(["n"], "k", { texts: ["red", "green", "blue"] });
  const values = [{ texts: ["white"] }, { texts: ["otter", "heron", "salmon"] }];
  await Promise.all(values.map((value) => store.put(["n"], "k", value)));
  const last = await store.get(["n"], "k");
  for (const query of (last?.value.texts ?? []) as string[]) {
    expect(await store.search(["n"], { query })).toMatchObject([{ key: "k", score: expect.closeTo(1) }]);
  }
});

test("of several puts at once, the last one leaves nothing of the others", async () => {
  const args = { indexName: `items ${made++}`, indexKey: generateKey() };
  const index = { dims, embeddings, fields: ["texts[*]"] };
  const store = new EncryptedStore({ ...args, client, index });
  await store.put(["n"], "other", { texts: ["red"] });
  const large = new Uint8Array(1_000_000);
  const values = [{ texts: ["white", "green", "blue"] }, { texts: ["heron", "otter"], large }];
  await Promise.all([...values, ...values].map((value) => store.put(["n"], "k", value)));
  const { texts, large: bytes } = (await store.get(["n"], "k"))?.value ?? {};
  const stored = await client.loadIndex(args);
  // Two chunks.
  expect(await stored.count()).toBe(1 + (texts as string[]).length + (bytes === undefined ? 0 : 2));
  await store.delete(["n"], "k");
  expect(await stored.count()).toBe(1);
});

test("keys that differ only in where a label ends are different", async () => {
  const store = newStore();
  await store.put(["a", "b"], "c", { n: 1 });
  await store.put(["a"], "b/c", { n: 2 });
  await store.put(["a,b"], "c", { n: 3 });
  expect((await store.get(["a", "b"], "c"))?.value).toEqual({ n: 1 });
  expect((await store.get(["a"], "b/c"))?.value).toEqual({ n: 2 });
  expect((await store.get(["a,b"], "c"))?.value).toEqual({ n: 3 });
});

test("a store of more items than one query gives is listed whole", async () => {
  const store = newStore();
  const operations = (from: number): Operation[] =>
    Array.from({ length: 5_100 }, (_, i) => ({
      namespace: ["n", `${(from + i) % 3}`],
      key: `${from + i}`,
      value: { i: from + i },
    }));
  await store.batch(operations(0));
  await store.batch(operations(5_100));
  expect(await store.search(["n"], { limit: 20_000 })).toHaveLength(10_200);
  expect(await store.search(["n", "1"], { filter: { i: { $gte: 10_000 } }, limit: 99 })).toHaveLength(67);
  expect(await store.listNamespaces()).toEqual([
    ["n", "0"],
    ["n", "1"],
    ["n", "2"],
  ]);
});

test("reads and prints only with the key", async () => {
  const indexKey = generateKey();
  const args = { indexName: "locked", indexKey, client };
  const store = new EncryptedStore(args);
  await store.put(["a"], "k", { secret: 1 });
  await expect(
    new EncryptedStore({ ...args, indexKey: generateKey() }).get(["a"], "k"),
  ).rejects.toMatchObject({
    code: "wrong_index_key",
  });
  expect(inspect(store, { depth: 9, showHidden: true })).not.toContain(indexKey);
  expect((await new EncryptedStore(args).get(["a"], "k"))?.value).toEqual({ secret: 1 });
});
