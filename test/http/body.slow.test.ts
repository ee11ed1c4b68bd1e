/** Bodies: parsed in parts as `JSON.parse` would parse them at once, and refused cheaply if they are too much. */

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  Fault,
  JsonParts,
  parseParts,
  type Part,
  unpackNumbers,
} from "../../packages/server/src/body/json-parts.js";
import { Semaphore } from "../../packages/server/src/http/semaphore.js";
import { generateKey } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

const streamed = { arrays: ["items", "ids"], base64: [] };

/** The combined value of the parts of a text. */
function together(parts: readonly Part[], rest: unknown): { value: unknown } {
  const arrays = new Map<string, unknown[]>();
  for (const part of parts) {
    if ("bytes" in part) throw new Error("no base64 is asked for");
    const array = arrays.get(part.name) ?? [];
    expect(part.start).toBe(array.length);
    arrays.set(part.name, [...array, ...part.elements.map(unpackNumbers)]);
  }
  return { value: arrays.size === 0 ? rest : { ...(rest as object), ...Object.fromEntries(arrays) } };
}

/** Undefined if the text is refused. */
function unlessRefused(parse: () => { value: unknown }): { value: unknown } | undefined {
  try {
    return parse();
  } catch (error) {
    expect(error).toBeInstanceOf(Fault);
    expect((error as Fault).message).toMatch(/^body: (expected|invalid JSON)/);
    return undefined;
  }
}

/** As a long body, in pieces. */
function parseInParts(bytes: Buffer, cuts: readonly number[]): { value: unknown } | undefined {
  return unlessRefused(() => {
    const parser = new JsonParts(streamed);
    const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
    const parts = [...ends, bytes.length].flatMap((end, i) =>
      parser.push(bytes.subarray(ends[i - 1] ?? 0, end)),
    );
    return together(parts, parser.finish());
  });
}

/** As a short body. */
function parseShort(bytes: Buffer): { value: unknown } | undefined {
  return unlessRefused(() => {
    const { parts, rest } = parseParts(bytes, streamed);
    return together(parts, rest);
  });
}

function parseAtOnce(bytes: Buffer): { value: unknown } | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

describe("a body in parts", () => {
  const json = fc.jsonValue({ maxDepth: 5 });
  const name = fc.oneof(fc.constantFrom("items", "ids", "__proto__", 'a"b', "\\\\", "ü"), fc.string());
  const body = fc.dictionary(name, fc.oneof(json, fc.array(json, { maxLength: 20 })));
  const cuts = fc.array(fc.nat(), { maxLength: 5 });
  const space = fc.constantFrom(undefined, 1, "\t\n");

  test("is what it is at once, wherever its bytes are cut", () => {
    fc.assert(
      fc.property(fc.oneof(body, json), cuts, space, (value, at, indent) => {
        const bytes = Buffer.from(JSON.stringify(value, null, indent));
        expect(parseInParts(bytes, at)).toEqual(parseAtOnce(bytes));
        expect(parseShort(bytes)).toEqual(parseAtOnce(bytes));
      }),
      { numRuns: 2000 },
    );
  });

  test("is refused if it is no JSON, and only then", () => {
    const damage = fc.record({
      at: fc.nat(),
      remove: fc.nat({ max: 2 }),
      add: fc.constantFrom(...'[]{},:"\\01n ', "\xff", ""),
    });
    const isAccepted = (bytes: Buffer, at: readonly number[]) => parseInParts(bytes, at) !== undefined;
    fc.assert(
      fc.property(body, cuts, fc.array(damage, { minLength: 1, maxLength: 3 }), (value, at, faults) => {
        let bytes = Buffer.from(JSON.stringify(value));
        for (const fault of faults) {
          const start = fault.at % (bytes.length + 1);
          const end = bytes.subarray(start + fault.remove);
          bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(fault.add, "latin1"), end]);
        }
        const whole = parseAtOnce(bytes);
        expect(parseShort(bytes)).toEqual(whole);
        const parts = parseInParts(bytes, at);
        if (whole === undefined) expect(parts).toBeUndefined();
        // A damaged name may be there twice.
        else if (parts !== undefined) expect(parts).toEqual(whole);
        else expect(isAccepted(Buffer.from(JSON.stringify(whole.value)), [])).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    ["U+FEFF at the start of a text", '{"items":[{"id":"\ufeffa"}]}'],
    ["U+FEFF after an escape", '{"items":[{"id":"a\\n\ufeffb"}],"x":"\\ufeff"}'],
    ["U+FEFF in a long text", JSON.stringify({ items: [`${"a".repeat(4096)}\ufeffb`] })],
  ])("keeps %s", (_, text) => {
    const bytes = Buffer.from(text);
    const whole = { value: JSON.parse(text) as unknown };
    expect(parseInParts(bytes, [])).toEqual(whole);
    expect(parseShort(bytes)).toEqual(whole);
  });

  test("is refused if its last character is not whole", () => {
    const bytes = Buffer.concat([Buffer.from("{}"), Buffer.from("é").subarray(0, 1)]);
    expect(parseInParts(bytes, [])).toBeUndefined();
    expect(parseShort(bytes)).toBeUndefined();
  });

  test("is refused if a text in base64 is repeated, which would begin a part each time", () => {
    const parser = new JsonParts({ arrays: [], base64: ["batch.vectors_b64"] });
    parser.push(Buffer.from('{"batch":{"vectors_b64":"AAAA","a":[],'));
    const repeated = Buffer.from('"vectors_b64":"",');
    expect(() => parser.push(repeated)).toThrow("batch.vectors_b64: expected it once");
  });

  test("has its large arrays yielded before all of it has arrived", () => {
    const parser = new JsonParts(streamed);
    const half = Buffer.from(`{"items":[${'{"id":"x"},'.repeat(20_000)}`);
    const counts = parser.push(half).map((part) => ("elements" in part ? part.elements.length : 0));
    expect(counts).toEqual([20_000]);
  });
});

describe("too much of anything is refused", () => {
  let service: RunningService;
  let index: { index_name: string; index_key: string };
  beforeAll(async () => {
    service = await startService();
    index = await service.newIndex();
  });
  afterAll(() => service.close());

  const key = () => JSON.stringify({ index_name: "x", index_key: generateKey() }).slice(0, -1);
  test.each<[string, string, () => string, RegExp]>([
    [
      "millions of query vectors",
      "query",
      () => `${key()},"query_vectors":[${"[0],".repeat(1_000_000)}[0]]}`,
      /^query_vectors: expected at most 8192 entries/,
    ],
    [
      "millions of numbers",
      "query",
      () => `${key()},"query_vectors":[${"0,".repeat(3_000_000)}0]}`,
      /^query_vectors: expected at most 8192 entries/,
    ],
    [
      "millions of keys in a filter",
      "query",
      () => `${key()},"query_vectors":[1],"filters":{${'"a":0,'.repeat(1_000_000)}"b":0}}`,
      /^body: expected at most 50000 values/,
    ],
    [
      "millions of unknown members",
      "query",
      () => `${key()}${',"a":0'.repeat(1_000_000)}}`,
      /^body: expected at most 50000 values/,
    ],
    [
      "millions of values in one item",
      "upsert",
      () => `${key()},"items":[{"id":"x","metadata":{"a":[${"[],".repeat(2_000_000)}0]}}]}`,
      /^body: expected at most 50000 values/,
    ],
    [
      "millions of items",
      "upsert",
      () => `${key()},"items":[${'{"id":"x"},'.repeat(1_000_000)}0]}`,
      /^items: expected at most 100000 entries/,
    ],
    [
      "millions of ids",
      "get",
      () => `${key()},"ids":[${'"",'.repeat(1_000_000)}""]}`,
      /^ids: expected at most 100000 entries/,
    ],
    [
      "an item of many megabytes",
      "upsert",
      () => `${key()},"items":[{"id":"${"x".repeat(9_000_000)}"}]}`,
      /^body: expected at most 8388608 bytes in one part/,
    ],
    [
      "a text of many megabytes",
      "query",
      () => `${key()},"query_contents":"${"x".repeat(1_048_577)}"}`,
      /^query_contents: expected at most 1048576 characters/,
    ],
    [
      "a text of as many pairs of code units",
      "query",
      () => `${key()},"query_contents":"${"\u{1f600}".repeat(1_048_576)}x"}`,
      /^query_contents: expected at most 1048576 characters/,
    ],
    [
      "a text of seven times as many characters",
      "query",
      () => `${key()},"query_contents":"${"x".repeat(7_000_000)}"}`,
      /^query_contents: expected at most 1048576 characters/,
    ],
    [
      "a number beyond float64 in metadata",
      "upsert",
      () => `${key()},"items":[{"id":"x","vector":[1],"metadata":{"a":[{"b":1e999}]}}]}`,
      /^items\[0\]\.metadata: expected numbers within the range of float64/,
    ],
    [
      "deep nesting in an item",
      "upsert",
      () => `${key()},"items":[${"[".repeat(2_000_000)}`,
      /^body: .*32 deep/,
    ],
    [
      "deep nesting in a short body",
      "upsert",
      () => `${key()},"items":[${"[".repeat(100_000)}${"]".repeat(100_000)}]}`,
      /^body: .*32 deep/,
    ],
    [
      "an array twice in a long body",
      "get",
      () => `${key()}${" ".repeat(2 ** 20)},"ids":["b"],"ids":["a"]}`,
      /^body: expected each array once/,
    ],
  ])("%s", async (_, verb, body, detail) => {
    const answer = await service.post(`/v1/vectors/${verb}`, body());
    expect(answer).toMatchObject({ status: 422, body: { detail: expect.stringMatching(detail) } });
  });

  test("by lengths that are set, named in the answer, declared or not", async () => {
    const small = await startService({ limits: { bodyBytesMax: 3000, queryBytesMax: 2000 } });
    const address = await small.newIndex();
    const contents = (length: number) => ({
      items: [{ id: "x", vector: [1], contents: "x".repeat(length) }],
    });
    expect(await small.post("/v1/vectors/upsert", { ...address, ...contents(2500) })).toMatchObject({
      status: 200,
    });
    for (const [verb, more, max] of [
      ["upsert", contents(3000), 3000],
      ["query", { query_contents: "x".repeat(2000) }, 2000],
      ["get", { ids: ["x".repeat(2000)] }, 2000],
    ] as const) {
      const text = JSON.stringify({ ...address, ...more });
      for (const body of [text, new Blob([text]).stream()]) {
        const response = await fetch(`${small.baseUrl}/v1/vectors/${verb}`, {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-API-Key": small.apiKey },
          body,
          duplex: "half",
        } as RequestInit);
        expect(response.headers.get("X-Error-Code")).toBe("too_large");
        const detail = `body: expected at most ${max} bytes; send less at a time`;
        expect(await response.json()).toEqual({ status_code: 413, detail });
      }
    }
    await small.close();
  });

  test("and bodies just within the limits are served", async () => {
    const metadata = { a: Array.from({ length: 32_000 }, () => 0) };
    const vector = Array.from({ length: 8192 }, (_, i) => i / 8192);
    const items = [{ id: "x".repeat(512), vector, contents: "\u0001".repeat(1024 * 1024), metadata }];
    expect(await service.post("/v1/vectors/upsert", { ...index, items })).toMatchObject({ status: 200 });
    const many = [
      Array.from({ length: 20_000 }, () => []),
      Array.from({ length: 20_000 }, () => ({})),
      Array(1000).fill(JSON.parse("[".repeat(25) + "]".repeat(25))),
    ];
    for (const a of many) {
      const item = { id: "many", vector, metadata: { a } };
      const text = " ".repeat(2 ** 20) + JSON.stringify({ ...index, items: [item, item] });
      expect(await service.post("/v1/vectors/upsert", text)).toMatchObject({ status: 200 });
    }
    const filters = { a: { $in: Array.from({ length: 10_000 }, (_, i) => i) } };
    const query = { ...index, query_vectors: Array.from({ length: 40 }, () => vector), filters, include: [] };
    const { status, body } = await service.post("/v1/vectors/query", query);
    expect([status, body.results]).toEqual([200, Array.from({ length: 40 }, () => [{ id: items[0].id }])]);
  });
});

describe("a semaphore", () => {
  const never = new AbortController().signal;

  test("admits bodies that fit, first come, first served, and skips closed ones", async () => {
    const semaphore = new Semaphore(10, Infinity);
    const order: string[] = [];
    const first = await semaphore.acquire("a", 6, never);
    const leaving = new AbortController();
    const left = semaphore.acquire("a", 8, leaving.signal);
    const second = semaphore.acquire("a", 5, never).then((leave) => (order.push("second"), leave));
    const third = semaphore.acquire("a", 1000, never).then((leave) => (order.push("third"), leave));
    expect(semaphore.tryAcquire("a", 1)).toBeUndefined();
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    first();
    first();
    (await second)();
    (await third)();
    expect(order).toEqual(["second", "third"]);
    (await semaphore.acquire("a", 10, never))();
  });
});
