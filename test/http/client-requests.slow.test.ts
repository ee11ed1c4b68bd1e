/** The requests that the HTTP client sends: in which form, how often, over which connections. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/client.js";
import { Retries } from "../../src/client/retries.js";
import { generateKey, SealdexError, type VectorIndex } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** Answers a request; false leaves it to the service. */
type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The service behind a proxy that counts connections, writes down paths, and answers some requests itself. */
async function throughProxy(intercept: Intercept = () => false, maxRetries = 5) {
  const paths: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const body = Buffer.concat(await request.toArray());
      paths.push(`${request.url}`.replace(/^\/v1\/(vectors|indexes)\//, ""));
      if (intercept(request, response)) return;
      const answer = await fetch(service.baseUrl + request.url, {
        method: request.method,
        headers: {
          "Content-Type": "application/json",
          Accept: `${request.headers.accept}`,
          "X-API-Key": service.apiKey,
        },
        ...(body.length > 0 && { body }),
      });
      response.writeHead(answer.status, { "Content-Type": "application/json" }).end(await answer.text());
    })();
  });
  server.on("connection", () => connections++);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, maxRetries });
  return {
    client,
    paths,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      await client.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Pauses are random; the shortest are 0. */
async function withoutPauses<T>(work: () => Promise<T>): Promise<T> {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  try {
    return await work();
  } finally {
    random.mockRestore();
  }
}

let made = 0;
const address = () => ({ indexName: `requests ${made++}`, indexKey: generateKey() });
const items = [
  { id: "a", vector: [0, 1], contents: "one", metadata: { n: 1 } },
  { id: "b", vector: new Float32Array([0, -0]) },
];
const item = (id: string) => [{ id, vector: [1, 2] }];

describe("the form of vectors", () => {
  test("is base64, and stored and found vectors are the same", async () => {
    await using proxy = await throughProxy();
    const index = await proxy.client.createIndex(address());
    await index.upsert(items);
    expect(await index.query({ queryVector: [0, 1], topK: 1, filter: { n: 1 } })).toEqual([
      { id: "a", distance: 0 },
    ]);
    expect(
      await index.query({
        queryVectors: [
          [0, 1],
          [0, 0],
        ],
        topK: 1,
      }),
    ).toEqual([[{ id: "a", distance: 0 }], [{ id: "b", distance: 0 }]]);
    expect(proxy.paths).toEqual(["create", "upsert_binary", "query_binary", "query_binary"]);
    const [a, b] = await index.get(["a", "b"]);
    expect(a).toEqual({ ...items[0], vector: new Float32Array([0, 1]) });
    expect(Object.is(b.vector?.[1], -0)).toBe(true);
  });

  test.each<[string, (index: VectorIndex) => Promise<unknown>, string[]]>([
    [
      "vectors of several dimensions",
      (index) => index.upsert([...item("a"), { id: "b", vector: [1] }]),
      ["upsert"],
    ],
    ["an empty text", (index) => index.upsert([{ ...item("a")[0], contents: "" }]), ["upsert"]],
    ["items without vectors", (index) => index.upsert([{ id: "a", contents: "text" }]), ["upsert"]],
    ["no items", (index) => index.upsert([]), ["upsert"]],
    ["words", (index) => index.query({ queryText: "x", queryVector: [1, 2] }), ["query"]],
    ["contents", (index) => index.query({ queryContents: "x" }), ["query"]],
    ["no vectors", (index) => index.query({ queryVectors: [] }), []],
  ])("%s are said in JSON, if at all", async (_, call, paths) => {
    await using proxy = await throughProxy();
    const index = await proxy.client.createIndex(address());
    await call(index).catch((error: unknown) => expect(error).toBeInstanceOf(SealdexError));
    expect(proxy.paths.slice(1)).toEqual(paths);
  });

  test("is JSON for a service without binary routes, after one attempt", async () => {
    await using proxy = await throughProxy(({ url = "" }, response) => {
      if (!url.endsWith("_binary")) return false;
      response.writeHead(404, { "Content-Type": "application/json" }).end('{"detail":"Not Found"}');
      return true;
    });
    const index = await proxy.client.createIndex(address());
    expect(await index.upsert(items)).toEqual({ stored: 2, unchanged: 0, deleted: 0 });
    expect(await index.query({ queryVector: [0, 1], topK: 1 })).toEqual([{ id: "a", distance: 0 }]);
    expect(proxy.paths).toEqual(["create", "upsert_binary", "upsert", "query"]);
  });

  test("stays base64 if an index is not found", async () => {
    await using proxy = await throughProxy();
    const options = address();
    const index = await proxy.client.createIndex(options);
    await proxy.client.deleteIndex(options);
    const notFound = { code: "not_found" };
    await expect(index.query({ queryVector: [1, 2] })).rejects.toMatchObject(notFound);
    const other = await proxy.client.createIndex(address());
    await other.upsert(items);
    await expect(index.query({ queryVector: [1, 2] })).rejects.toMatchObject(notFound);
    expect(proxy.paths.slice(2)).toEqual([
      "query_binary",
      "query",
      "create",
      "upsert_binary",
      "query_binary",
    ]);
  });
});

test("calls one after another share a connection, after failures too", async () => {
  let failures = 2;
  await using proxy = await throughProxy((_, response) => {
    if (failures-- <= 0) return false;
    response.writeHead(503, { "Retry-After": "0" }).end("{}");
    return true;
  });
  expect(await proxy.client.listIndexes()).toEqual(expect.any(Array));
  const index = await proxy.client.createIndex(address());
  for (let i = 0; i < 20; i++) await index.upsert(item(`${i}`));
  expect(await index.count()).toBe(20);
  // Node.js may open a second one if the first is done only just now.
  expect(proxy.connections()).toBeLessThanOrEqual(2);
});

describe("after a failure", () => {
  const reads: Record<string, (index: VectorIndex) => Promise<unknown>> = {
    query: (index) => index.query({ queryVector: [1, 2] }),
    "query by words": (index) => index.query({ queryText: "x" }),
    "list of items in an order": (index) => index.listItems({ orderBy: { n: "asc" } }),
    get: (index) => index.get(["a"]),
    count: (index) => index.count(),
    listIds: (index) => index.listIds(),
    listItems: (index) => index.listItems(),
    describe: (index) => index.describe(),
    anchor: (index) => index.anchor(),
    "wraps.list": (index) => index.wraps.list(),
  };
  const idempotent: Record<string, (index: VectorIndex) => Promise<unknown>> = {
    upsert: (index) => index.upsert(item("a")),
    "delete by id": (index) => index.delete({ ids: ["a"] }),
  };
  const others: Record<string, (index: VectorIndex) => Promise<unknown>> = {
    "upsert with deleteFilter": (index) => index.upsert(item("a"), { deleteFilter: { n: 1 } }),
    "upsert with skipUnchanged": (index) => index.upsert(item("a"), { skipUnchanged: true }),
    "delete by filter": (index) => index.delete({ filter: { n: 1 } }),
    "delete of some by filter": (index) => index.delete({ ids: ["a"], filter: { n: 1 } }),
    "delete of all": (index) => index.delete({ deleteAll: true }),
    update: (index) => index.update({ ids: ["a"] }, { metadata: { n: 1 } }),
    train: (index) => index.train(),
    compact: (index) => index.compact(),
    rotateKey: (index) => index.rotateKey(generateKey()),
    reencrypt: (index) => index.reencrypt(),
    "wraps.add": (index) => index.wraps.add({ name: "a", key: generateKey(), access: "read-only" }),
  };
  const isUnknown: Record<string, (response: ServerResponse) => unknown> = {
    "a lost connection": (response) => response.destroy(),
    "half an answer": (response) => {
      response.writeHead(200, { "Content-Length": "100" });
      response.write("{", () => response.destroy());
    },
    "a proxy's 502": (response) => response.writeHead(502).end("<html>"),
    "storage that does not respond": (response) => refuse(response, "storage_unavailable"),
  };
  const isNothingDone: Record<string, (response: ServerResponse) => unknown> = {
    overload: (response) => refuse(response, "overloaded"),
    "a rate limit": (response) => refuse(response, "rate_limited"),
    "a rate limit of a proxy's": (response) =>
      response.writeHead(429, { "Retry-After": "0" }).end("slow down"),
  };
  const statuses: Record<string, number> = { storage_unavailable: 503, overloaded: 503, rate_limited: 429 };
  const refuse = (response: ServerResponse, code: string) =>
    response
      .writeHead(statuses[code], { "Content-Type": "application/json", "Retry-After": "0" })
      .end(JSON.stringify({ code, detail: "x" }));

  /** How many requests a call makes if the first one fails so. */
  async function requestsOf(
    call: (index: VectorIndex) => Promise<unknown>,
    fail: (response: ServerResponse) => unknown,
  ) {
    let failures = 0;
    await using proxy = await throughProxy((_, response) => {
      if (failures-- !== 1) return false;
      fail(response);
      return true;
    });
    const index = await proxy.client.createIndex({ ...address(), textIndex: true });
    await index.upsert(item("a"));
    const before = proxy.paths.length;
    failures = 1;
    const error = await withoutPauses(() => call(index)).catch((reason: unknown) => reason);
    return { requests: proxy.paths.length - before, error };
  }

  test.each(Object.entries(isUnknown))("%s, only repeatable requests are sent again", async (_, fail) => {
    for (const [name, call] of Object.entries({ ...reads, ...idempotent })) {
      const { requests, error } = await requestsOf(call, fail);
      expect(requests, name).toBe(2);
      expect(error, name).not.toBeInstanceOf(Error);
    }
    for (const [name, call] of Object.entries(others)) {
      const { requests, error } = await requestsOf(call, fail);
      expect(requests, name).toBe(1);
      expect(error, name).toMatchObject({ code: "storage_unavailable" });
    }
  });

  test.each(Object.entries(isNothingDone))("%s, everything is sent again", async (_, fail) => {
    for (const [name, call] of Object.entries({ ...reads, ...idempotent, ...others })) {
      const { requests, error } = await requestsOf(call, fail);
      expect(requests, name).toBe(2);
      expect(error, name).not.toBeInstanceOf(Error);
    }
  });

  test("an index is not created or deleted twice, and indexes are listed again", async () => {
    let isFailing = true;
    await using proxy = await throughProxy((_, response) => {
      if (!isFailing) return false;
      response.destroy();
      return true;
    }, 2);
    const unavailable = { code: "storage_unavailable" };
    await expect(proxy.client.createIndex(address())).rejects.toMatchObject(unavailable);
    await expect(proxy.client.deleteIndex(address())).rejects.toMatchObject(unavailable);
    expect(proxy.paths).toEqual(["create", "delete"]);
    await expect(proxy.client.listIndexes()).rejects.toMatchObject(unavailable);
    expect(proxy.paths.slice(2)).toEqual(["list", "list", "list"]);
    isFailing = false;
    expect(await proxy.client.listIndexes()).toEqual(expect.any(Array));
  });

  test("of another kind, nothing is sent again", async () => {
    await using proxy = await throughProxy();
    const index = await proxy.client.createIndex(address());
    await index.upsert(item("a"));
    const before = proxy.paths.length;
    await expect(index.query({ queryVector: [1, 2, 3] })).rejects.toMatchObject({
      code: "dimension_mismatch",
    });
    const wrong = await proxy.client
      .loadIndex({ indexName: index.indexName, indexKey: generateKey() })
      .catch((error: unknown) => error);
    expect(wrong).toMatchObject({ code: "wrong_index_key" });
    expect(proxy.paths.length - before).toBe(2);
  });

  test("a connection that is refused is tried again for every call: nothing was sent", async () => {
    const closed = createServer();
    await once(closed.listen(0, "127.0.0.1"), "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, maxRetries: 100 });
    const creating = client.createIndex(address());
    const proxied = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "Content-Type": "application/json" }).end('{"status":"success"}');
    });
    await once(proxied.listen(port, "127.0.0.1"), "listening");
    expect((await creating).indexName).toBe(`requests ${made - 1}`);
    proxied.closeAllConnections();
    proxied.close();
  });

  test("a pause ends when the signal aborts, and is not begun if the time would be up", async () => {
    await using proxy = await throughProxy((_, response) => {
      response.writeHead(429, { "Retry-After": "50" }).end("{}");
      return true;
    });
    const controller = new AbortController();
    const listing = proxy.client.listIndexes({ signal: controller.signal });
    await expect.poll(() => proxy.paths.length).toBe(1);
    controller.abort(new Error("enough"));
    await expect(listing).rejects.toThrow("enough");
  });

  test("a service that never answers is reported once the time is up", async () => {
    const silent = createServer(() => undefined);
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const { port } = silent.address() as AddressInfo;
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs: 50 });
    await expect(client.listIndexes()).rejects.toMatchObject({
      code: "storage_unavailable",
      message: `GET http://127.0.0.1:${port}/v1/indexes/list: the service did not respond in time`,
    });
    silent.closeAllConnections();
    silent.close();
  });
});

describe("the pause before a request is sent again", () => {
  const overloaded = new SealdexError("overloaded", "x");

  test("is random up to a bound that doubles, for as many times as allowed", () => {
    const longest = Array.from({ length: 7 }, () => 0);
    for (let round = 0; round < 200; round++) {
      const retries = new Retries(7, false);
      for (const [i, most] of longest.entries()) {
        const pauseMs = retries.pauseAfter({ error: overloaded }) ?? Number.NaN;
        expect(pauseMs).toBeGreaterThanOrEqual(0);
        expect(pauseMs).toBeLessThan(Math.min(5000, 200 * 2 ** i));
        longest[i] = Math.max(most, pauseMs);
      }
      expect(retries.pauseAfter({ error: overloaded })).toBeUndefined();
    }
    for (const [i, most] of longest.entries()) expect(most).toBeGreaterThan(Math.min(5000, 200 * 2 ** i) / 2);
  });

  test("is never shorter than Retry-After, and a service that asks for more than a minute is not waited for", () => {
    const pauseAfter = (retryAfter: string) =>
      new Retries(5, false).pauseAfter({ error: overloaded, retryAfter });
    for (const [seconds, least] of [
      ["0", 0],
      ["7", 7000],
      ["60", 60_000],
      ["Thu, 01 Jan 2099 00:00:00 GMT", 0],
    ] as const) {
      expect(pauseAfter(seconds)).toBeGreaterThanOrEqual(least);
      expect(pauseAfter(seconds)).toBeLessThan(least + 200);
    }
    expect(pauseAfter("61")).toBeUndefined();
  });

  test("is not made for a certificate that is refused", () => {
    const error = new SealdexError("storage_unavailable", "x");
    expect(new Retries(5, true).pauseAfter({ error, isUnsent: false, isTransient: false })).toBeUndefined();
  });
});

test.each([-1, 1.5, 101, Number.NaN, "3"])("maxRetries %s is refused", (maxRetries) => {
  expect(() => createClient({ baseUrl: "http://127.0.0.1:1", maxRetries: maxRetries as number })).toThrow(
    /^maxRetries: expected an integer from 0 to 100/,
  );
});
