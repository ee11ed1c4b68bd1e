/** Additions of the HTTP client to the interface that it shares with the embedded one. */

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { generateKey, type Item } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";
import { newFolder } from "../folder.js";
import { refusal } from "../outcome.js";

let service: RunningService;
const log: string[] = [];
beforeAll(async () => {
  service = await startService({ log: { write: (line) => log.push(line) } });
});
afterAll(() => service.close());

const connect = () => createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
let made = 0;
const newIndex = () => connect().createIndex({ indexName: `client ${made++}`, indexKey: generateKey() });

/** Runs `work`, which must make exactly `count` requests to the route. */
async function expectRequests(count: number, route: string, work: () => Promise<unknown>): Promise<void> {
  log.length = 0;
  await work();
  // A request is logged once it is answered, which the client may see first.
  const logged = () => log.filter((line) => line.includes(route)).length;
  await expect.poll(logged, { timeout: 300_000 }).toBeGreaterThanOrEqual(count);
  expect(logged()).toBe(count);
}

/** A server that answers as told, at a port of its own. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describe("large calls", () => {
  const small = (from: number, to: number): Item[] =>
    Array.from({ length: to - from }, (_, i) => ({ id: `${from + i}`, vector: [from + i, 1] }));

  test("10,000 items are one request, one more makes two", async () => {
    const index = await newIndex();
    await expectRequests(1, "upsert", () => index.upsert(small(0, 10_000)));
    await expectRequests(2, "upsert", () => index.upsert(small(10_000, 20_001)));
    expect(await index.count()).toBe(20_001);
  });

  test("items of more than 32 MiB are several requests, each below the limit", async () => {
    const index = await newIndex();
    // Three bytes a character, and six for each that JSON escapes: were it one, all would fit in a request.
    const contents = "日".repeat(260_000) + "\u0001".repeat(20_000);
    const items = Array.from({ length: 40 }, (_, i) => ({ id: `${i}`, vector: [i], contents }));
    await expectRequests(2, "upsert", () => index.upsert(items));
    expect(await index.count()).toBe(40);
    expect(await index.get(["39"], { include: ["contents"] })).toEqual([{ id: "39", contents }]);
  });

  test("a fault that the client can see is found before the first request", async () => {
    const index = await newIndex();
    const items = [...small(0, 10_500), { id: "bad", vector: [1, Number.NaN] }];
    await expect(index.upsert(items)).rejects.toMatchObject(
      refusal("invalid_request", /^items\[10500\]\.vector\[1\]: /),
    );
    expect(await index.count()).toBe(0);
  });

  test("a fault that the service finds is named by its place in the whole call", async () => {
    const index = await newIndex();
    const items = [...small(0, 10_500), { id: "x".repeat(513), vector: [1, 1] }];
    await expect(index.upsert(items)).rejects.toMatchObject(
      refusal("invalid_request", /^items\[10500\]\.id: /),
    );
    // As documented: the request before the failing one stays.
    expect(await index.count()).toBe(10_000);
  });

  test("many ids are got and deleted in several requests, in order", async () => {
    const index = await newIndex();
    await index.upsert(small(0, 2500));
    const ids = small(0, 2500).map(({ id }) => id);
    await expectRequests(3, "vectors/get", async () => {
      const got = await index.get(ids.toReversed(), { include: [] });
      expect(got.map(({ id }) => id)).toEqual(ids.toReversed());
    });
    await index.delete({ ids: [...ids, ...Array.from({ length: 9000 }, (_, i) => `unknown ${i}`)] });
    expect(await index.count()).toBe(0);
  });
});

describe("failures", () => {
  test("a service that does not answer is storage that is unavailable", async () => {
    const gone = await serve(() => undefined);
    gone.close();
    const indexKey = generateKey();
    const apiKey = "canary-saffron";
    const error = await createClient({ baseUrl: gone.baseUrl, apiKey, maxRetries: 0 })
      .loadIndex({ indexName: "a", indexKey })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      name: "SealdexError",
      code: "storage_unavailable",
      message: `POST ${gone.baseUrl}/v1/indexes/describe: the service did not respond (ECONNREFUSED)`,
      cause: expect.anything(),
    });
    for (const secret of [apiKey, indexKey]) expect(inspect(error, { depth: 9 })).not.toContain(secret);
    // A port that fetch refuses by itself; its error has no code.
    const refused = createClient({ baseUrl: "http://127.0.0.1:1" }).listIndexes();
    await expect(refused).rejects.toThrow("the service did not respond (bad port)");
  });

  test("a connection that breaks is too", async () => {
    const broken = await serve((request) => request.socket.destroy());
    const client = createClient({ baseUrl: broken.baseUrl, maxRetries: 0 });
    await expect(client.listIndexes()).rejects.toMatchObject({ code: "storage_unavailable" });
    broken.close();
  });

  test.each([
    [502, "<html>Bad gateway</html>", "storage_unavailable"],
    [503, '{"error":"Service Unavailable"}', "storage_unavailable"],
    [404, "<html>Not found</html>", "not_found"],
    [403, "", "forbidden"],
    [200, "<html>Welcome</html>", "internal"],
    [200, '{"hello":"world"}', "internal"],
    [204, "", "internal"],
  ])("an answer %i of %j from another server is %s", async (status, text, code) => {
    const other = await serve((_, response) => response.writeHead(status).end(text));
    const client = createClient({ baseUrl: other.baseUrl, maxRetries: 0 });
    await expect(client.listIndexes()).rejects.toMatchObject({ name: "SealdexError", code });
    other.close();
  });

  test("a redirect is not followed: keys go where they were meant to go only", async () => {
    let asked = 0;
    const target = await serve((_, response) => {
      asked++;
      response.end('{"indexes":[]}');
    });
    for (const status of [301, 302, 307, 308]) {
      const redirecting = await serve((_, response) =>
        response.writeHead(status, { Location: target.baseUrl }).end(),
      );
      const client = createClient({ baseUrl: redirecting.baseUrl, apiKey: service.apiKey });
      await expect(client.listIndexes()).rejects.toMatchObject({ code: "internal" });
      redirecting.close();
    }
    expect(asked).toBe(0);
    target.close();
  });

  test.each<[string, { baseUrl: string; apiKey?: string }]>([
    ["no URL", { baseUrl: "saffron" }],
    ["another scheme", { baseUrl: "ftp://saffron" }],
    ["a password in the URL", { baseUrl: "http://user:saffron@127.0.0.1" }],
    ["a line break in the key", { baseUrl: "http://127.0.0.1", apiKey: "saffron\nX-Other: 1" }],
    ["an empty key", { baseUrl: "http://127.0.0.1", apiKey: "" }],
  ])("%s is refused at once, and not repeated", (_, options) => {
    try {
      createClient(options);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ name: "SealdexError", code: "invalid_request" });
      expect(inspect(error)).not.toContain("saffron");
    }
  });

  test("a missing or wrong API key is unauthenticated", async () => {
    for (const apiKey of [undefined, "wrong"]) {
      const client = createClient({ baseUrl: service.baseUrl, ...(apiKey && { apiKey }) });
      await expect(client.listIndexes()).rejects.toMatchObject({ code: "unauthenticated" });
    }
  });
});

test("the bytes of a key may be overwritten once the index is open", async () => {
  const indexKey = crypto.getRandomValues(new Uint8Array(32));
  const options = { indexName: "overwritten", indexKey: indexKey.slice() };
  const index = await connect().createIndex(options);
  options.indexKey.fill(0);
  expect(await index.count()).toBe(0);
  expect(await (await connect().loadIndex({ ...options, indexKey })).count()).toBe(0);
});

test("a base URL may have a path and a slash at its end", async () => {
  const paths: string[] = [];
  const proxy = await serve((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    response.end('{"indexes":["a"]}');
  });
  for (const path of ["", "/", "/search", "/search//"]) {
    expect(await createClient({ baseUrl: proxy.baseUrl + path }).listIndexes()).toEqual(["a"]);
  }
  const root = "GET /v1/indexes/list";
  expect(paths).toEqual([root, root, "GET /search/v1/indexes/list", "GET /search/v1/indexes/list"]);
  proxy.close();
});

test("several clients fill, query and delete one index at once, and none loses another's items", async () => {
  const options = { indexName: "shared", indexKey: generateKey() };
  await connect().createIndex(options);
  const work = Array.from({ length: 4 }, async (_, c) => {
    const index = await connect().loadIndex(options);
    for (let batch = 0; batch < 6; batch++) {
      const items = Array.from({ length: 20 }, (__, i) => ({
        id: `${c}/${batch}/${i}`,
        vector: [c, batch, i],
      }));
      await index.upsert(items);
      const own = await index.query({ queryVector: [c, batch, 3], topK: 1 });
      expect(own).toEqual([{ id: `${c}/${batch}/3`, distance: 0 }]);
      await index.delete({ ids: [`${c}/${batch}/0`] });
    }
  });
  await Promise.all(work);
  expect(await (await connect().loadIndex(options)).count()).toBe(4 * 6 * 19);
});

test("an index that another process deleted or made anew is never answered from memory", async () => {
  const path = await newFolder();
  const indexLocation = { location: "local", path } as const;
  const [one, other] = [await startService({ indexLocation }), await startService({ indexLocation })];
  const clients = [one, other].map(({ baseUrl, apiKey }) => createClient({ baseUrl, apiKey }));
  const options = { indexName: "moved", indexKey: generateKey() };
  const index = await clients[0].createIndex(options);
  await index.upsert([{ id: "old", vector: [1] }]);
  expect(await index.listIds()).toEqual(["old"]);

  await clients[1].deleteIndex(options);
  await expect(index.query({ queryVector: [1] })).rejects.toMatchObject({ code: "not_found" });
  await clients[1].createIndex(options);
  expect(await index.listIds()).toEqual([]);
  await index.upsert([{ id: "new", vector: [1, 2] }]);

  await clients[1].deleteIndex(options);
  const rekeyed = { ...options, indexKey: generateKey() };
  await clients[1].createIndex(rekeyed);
  await expect(index.upsert([{ id: "x", vector: [1] }])).rejects.toMatchObject({ code: "wrong_index_key" });
  expect(await (await clients[0].loadIndex(rekeyed)).count()).toBe(0);
  await Promise.all([one.close(), other.close()]);
});

test("sealdex/client reaches nothing of Node.js", () => {
  const source = resolve(dirname(fileURLToPath(import.meta.url)), "../../src");
  const reached = new Set<string>();
  const visit = (file: string) => {
    if (reached.has(file)) return;
    reached.add(file);
    const text = readFileSync(file, "utf8");
    for (const [, target] of text.matchAll(/^(?:import|export)(?! type)[^;]*? from "([^"]+)"/gm)) {
      expect(target, `${file} imports ${target}`).toMatch(/^\./);
      visit(resolve(dirname(file), target.replace(/\.js$/, ".ts")));
    }
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    // This file asks whether there is Node.js.
    if (file.endsWith("async/timers.ts")) return;
    expect(code, file).not.toMatch(/\b(Buffer|process|require|setImmediate|__dirname)\b/);
  };
  visit(join(source, "client/client.ts"));
  expect(reached.size).toBeGreaterThan(5);
});
