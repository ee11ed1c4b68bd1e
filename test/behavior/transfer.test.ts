/** Export, import and ingest: bit for bit, in order, no further ahead than needed. */

import { describe, expect, test } from "vitest";
import {
  exportItems,
  generateKey,
  importItems,
  ingest,
  type Item,
  type VectorIndex,
} from "../../src/core.js";
import { startBoth } from "../http/both-clients.js";
import { drain } from "./listing.js";
import { refusal } from "../outcome.js";

const { clients } = await startBoth();
let made = 0;

describe.each(Object.keys(clients))("%s", (where) => {
  const newIndex = () =>
    clients[where].createIndex({
      indexName: `transfer ${made++}`,
      indexKey: generateKey(),
      metric: "cosine",
    });
  const odd: readonly Item[] = [
    {
      id: "a",
      vector: Float32Array.of(0.1, -0, 3.4e38, 1e-45),
      contents: 'two\nlines, "quoted" \u2028 \u{1f600}',
    },
    {
      id: "é \n",
      vector: [1, 2, 3, 4],
      metadata: JSON.parse('{"__proto__":1,"n":-0.5,"b":{"a":[]},"a":"x"}') as object,
    },
    { id: "z", vector: [-1e-40, 1 / 3, 2, 0], contents: "", metadata: { text: "\u2029" } },
  ];

  test.each(["base64", "numbers"] as const)(
    "an index is the same after export and import, vectors as %s",
    async (vectors) => {
      const from = await newIndex();
      await from.upsert(odd);
      const lines = await drain(exportItems({ from, vectors }));
      expect(lines).toHaveLength(3);
      for (const line of lines) expect(line).toMatch(/^\{"id":[^\n]*\}\n$/);
      const to = await newIndex();
      // In chunks that split lines and characters.
      const bytes = Buffer.from(lines.join(""));
      const chunks = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) =>
        bytes.subarray(7 * i, 7 * i + 7),
      );
      expect(await importItems({ to, lines: chunks })).toEqual({
        items: 3,
        stored: 3,
        unchanged: 0,
        lines: 3,
      });
      const raw = async (index: VectorIndex) =>
        (await index.listItems()).items.map((item) => ({
          ...item,
          vector: Buffer.from((item.vector as Float32Array).buffer).toString("hex"),
        }));
      expect(await raw(to)).toEqual(await raw(from));
      expect(await drain(exportItems({ from: to, vectors }))).toEqual(lines);
      const again = await importItems({ to, lines, skipUnchanged: true });
      expect(again).toEqual({ items: 3, stored: 0, unchanged: 3, lines: 3 });
    },
  );

  test("an export can be limited, and continues after an id", async () => {
    const from = await newIndex();
    await from.upsert(odd);
    expect(await drain(exportItems({ from, filter: { a: "x" }, vectors: "none" }))).toEqual([
      '{"id":"é \\n","metadata":{"__proto__":1,"n":-0.5,"b":{"a":[]},"a":"x"}}\n',
    ]);
    expect(await drain(exportItems({ from, after: "a", vectors: "none" }))).toHaveLength(2);
    await expect(drain(exportItems({ from, vectors: "hex" as never }))).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  test("a line that is no item ends the import with its number; an import can continue from there", async () => {
    const good = (i: number) => `{"id":"${i}","vector":[${i},1]}`;
    const valid = Array.from({ length: 10 }, (_, i) => good(i));
    for (const [bad, message] of [
      ["{", /^line 8: .*invalid JSON/],
      ["[1]", /^line 8: expected a JSON object, got an array/],
      ["null", /^line 8: /],
      ['{"id":5,"vector":[1,2]}', /^line 8\.id: /],
      ['{"id":"x","vector":"AAA="}', /^line 8\.vector: /],
      ['{"id":"x","vector":"AACAPw AACAPw=="}', /^line 8\.vector: /],
      ['{"id":"x","vector":[1,null]}', /^line 8\.vector\[1\]: /],
      ['{"id":"x","vector":[1,2],"body":"y"}', /^line 8: unknown property "body"/],
      ['{"id":"x","vector":[1,2],"text":"y","document":"z"}', /^line 8: unknown property "text"/],
      ['{"id":"x","vector":[1,2],"embedding":[1,2]}', /^line 8: unknown property "embedding"/],
    ] as const) {
      const to = await newIndex();
      const lines = ["", ...valid.slice(0, 6), bad, ...valid.slice(6)];
      const done: number[] = [];
      const text = lines.join("\n");
      const call = {
        to,
        batchSize: 2,
        onProgress: (progress: { lines: number }) => done.push(progress.lines),
      };
      await expect(importItems({ ...call, lines: [text] }), bad).rejects.toMatchObject({
        code: "invalid_request",
        message: expect.stringMatching(message),
      });
      expect(done).toEqual([3, 5, 7]);
      expect(await to.count()).toBe(6);
      lines[7] = "";
      const result = await importItems({ ...call, lines: [lines.join("\n")], fromLine: 8 });
      expect(result).toMatchObject({ items: 4, lines: 12 });
      expect(await to.count()).toBe(10);
    }
  });

  test("lines of other stores are items, and a line without an id gets one", async () => {
    const to = await newIndex();
    const contents = "text";
    const lines = [
      { id: "pinecone", values: [1, 0], metadata: { n: 1 } },
      { id: "chroma", embedding: [1, 0], document: contents, metadata: { n: 1 } },
      { _id: "pgvector", embedding: [1, 0], text: contents, metadata: { n: 1 } },
      { id: "langchain", vector: [1, 0], pageContent: contents, metadata: { n: 1 } },
      { id: "python", vector: [1, 0], page_content: contents, metadata: { n: 1 } },
      { vector: [1, 0], metadata: { n: 2 } },
    ];
    await importItems({ to, lines: lines.map((line) => `${JSON.stringify(line)}\n`) });
    const { items } = await to.listItems({ filter: { n: 1 } });
    const vector = Float32Array.of(1, 0);
    const metadata = { n: 1 };
    expect(items).toEqual([
      ...["chroma", "langchain", "pgvector"].map((id) => ({ id, vector, contents, metadata })),
      { id: "pinecone", vector, metadata },
      { id: "python", vector, contents, metadata },
    ]);
    const [unnamed] = (await to.listItems({ filter: { n: 2 } })).items;
    expect(unnamed.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("bytes that are no UTF-8, and lines without end, are refused", async () => {
    const to = await newIndex();
    await expect(importItems({ to, lines: [Uint8Array.of(0x7b, 0xff)] })).rejects.toMatchObject({
      message: /^line 1: /,
    });
    function* endless() {
      for (;;) yield "x".repeat(1024 * 1024);
    }
    await expect(importItems({ to, lines: endless() })).rejects.toMatchObject({
      message: /^line 1: .*characters/,
    });
    expect(await to.count()).toBe(0);
  });

  test("an import reads one batch ahead of the stored ones, and closes its source after a failure", async () => {
    const to = await newIndex();
    let asked = 0;
    let closed = false;
    let stored = 0;
    async function* source(): AsyncGenerator<Item> {
      try {
        for (;;) {
          expect(asked - stored).toBeLessThanOrEqual(6);
          yield asked === 40 ? { id: "wrong", vector: [1, 2, 3] } : { id: `${asked}`, vector: [1, asked] };
          asked++;
        }
      } finally {
        closed = true;
      }
    }
    const onProgress = ({ items }: { items: number }) => (stored = items);
    await expect(ingest({ to, items: source(), batchSize: 3, onProgress })).rejects.toMatchObject(
      refusal("dimension_mismatch", /^items\[40\]\.vector/),
    );
    expect({ closed, stored, count: await to.count() }).toEqual({ closed: true, stored: 39, count: 39 });
  });

  test("a source may yield one object again and again: items are stored as they were when yielded", async () => {
    const to = await newIndex();
    function* source() {
      const item = { id: "", vector: new Float32Array(2), metadata: { tags: [0] }, expiresAt: new Date(0) };
      for (let i = 0; i < 9; i++) {
        item.id = `item ${i}`;
        item.vector.set([i, 1]);
        item.metadata.tags[0] = i;
        item.expiresAt.setTime(4e12 + i);
        yield item;
      }
      item.vector.fill(-1);
      item.metadata.tags[0] = -1;
      item.expiresAt.setTime(0);
    }
    expect(await ingest({ to, items: source(), batchSize: 4 })).toMatchObject({ stored: 9 });
    const ids = Array.from({ length: 9 }, (_, i) => `item ${i}`);
    const stored = await to.get(ids, { include: ["vector", "metadata"] });
    for (const [i, item] of stored.entries()) {
      expect(item).toMatchObject({ id: ids[i], metadata: { tags: [i] }, expiresAt: new Date(4e12 + i) });
      expect([...(item.vector ?? [])]).toEqual([i, 1]);
    }
    expect(stored).toHaveLength(9);
  });

  test("an abort ends an ingest, also of a source that is silent; nothing that is no iterable begins one", async () => {
    const to = await newIndex();
    const controller = new AbortController();
    const items = Array.from({ length: 20 }, (_, i) => ({ id: `${i}`, vector: [i] }));
    const onProgress = () => controller.abort(new Error("enough"));
    const call = ingest({ to, items, batchSize: 5, onProgress, signal: controller.signal });
    await expect(call).rejects.toThrow("enough");
    const silent = new AbortController();
    async function* source(): AsyncGenerator<Item> {
      yield { id: "0", vector: [0] };
      silent.abort(new Error("too late"));
      await new Promise(() => undefined);
    }
    await expect(ingest({ to, items: source(), signal: silent.signal })).rejects.toThrow("too late");
    for (const options of [{ to, items: 5 }, { to, items, batchSize: 0 }, { to, items, size: 5 }, null]) {
      await expect(ingest(options as never)).rejects.toMatchObject({ code: "invalid_request" });
    }
    expect(await ingest({ to, items })).toEqual({ items: 20, stored: 20, unchanged: 0 });
    expect(await ingest({ to, items: [] })).toEqual({ items: 0, stored: 0, unchanged: 0 });
  });
});
