/** Faults between a client and the service: malformed requests, clients that disconnect, storage that fails. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { SealdexError } from "../../src/errors.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
afterEach(() => service.close());

/** Sends bytes as they are, and resolves to everything that comes back until the connection ends. */
async function exchange(bytes: string): Promise<{ head: string; body: unknown }> {
  const socket = open(bytes);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, "close");
  const [head, body] = text.split("\r\n\r\n");
  return { head, body: JSON.parse(body) as unknown };
}

function open(bytes: string): Socket {
  const socket = connect(Number(new URL(service.baseUrl).port), "127.0.0.1");
  socket.on("error", () => socket.destroy());
  socket.write(bytes);
  return socket;
}

test.each([
  ["GET /v1/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404, "not_found"],
  ["GET /%ff%fe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404, "not_found"],
  ["nonsense\r\n\r\n", 400, "invalid_request"],
  ["POST /v1/vectors/query HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", 400, "invalid_request"],
  [
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    400,
    "invalid_request",
  ],
  [`GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Y: ${"y".repeat(20_000)}\r\n\r\n`, 431, "invalid_request"],
  [`GET /${"y".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, "invalid_request"],
])("malformed requests are answered in the documented shape (%#)", async (bytes, status, code) => {
  service = await startService();
  const { head, body } = await exchange(bytes);
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(head).toMatch(/content-type: application\/json/i);
  expect(head).toMatch(new RegExp(`^x-error-code: ${code}$`, "im"));
  expect(body).toEqual({
    status_code: status,
    detail: expect.stringMatching(/percent-encoded|no such endpoint|expected/),
  });
});

test.each([
  ["headers", "POST /v1/vectors/query HTTP/1.1\r\nHost: x\r\nX-Y: "],
  [
    "bodies",
    "POST /v1/vectors/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n",
  ],
])("stalled %s are closed", async (_, bytes) => {
  service = await startService({ limits: { headersMsMax: 50, requestMsMax: 50 } });
  const { head, body } = await exchange(
    bytes.endsWith("9\r\n") ? `${bytes}X-API-Key: ${service.apiKey}\r\n\r\n{` : bytes,
  );
  expect(head).toMatch(/^HTTP\/1.1 408 /);
  expect(head).toMatch(/^x-error-code: invalid_request$/im);
  expect(body).toEqual({ status_code: 408, detail: expect.stringMatching(/in time/) });
});

test("a client that leaves, whatever it was doing, is no error of the service", async () => {
  const log: string[] = [];
  let reached = () => {};
  let fail = () => {};
  const slow = {
    ...createMemoryStore(),
    list: () =>
      new Promise<never>((_, reject) => {
        fail = () => reject(new SealdexError("storage_unavailable", "nobody waits for it"));
        reached();
      }),
  };
  service = await startService({ indexLocation: slow, log: { write: (line) => log.push(line) } });
  const head = (length: number) =>
    `POST /v1/vectors/query HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.apiKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const body = JSON.stringify({ index_name: "x", index_key: "0".repeat(64), query_vectors: [1] });
  const atStorage = new Promise<void>((resolve) => (reached = resolve));
  const inBody = open(`${head(1000)}{"index`);
  const inWork = open(head(body.length) + body);
  await atStorage;
  for (const socket of [inBody, inWork]) {
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  fail();
  while (log.filter((line) => line.includes('"aborted":true')).length < 2) await new Promise(setImmediate);
  await service.get("/v1/health");
  expect(log.filter((line) => (JSON.parse(line) as { level: number }).level >= 50)).toEqual([]);
});

test.each([
  ["storage_unavailable", 503, "the storage did not respond; see its log"],
  ["corrupt", 500, "stored data was modified or is damaged; see its log"],
  ["missing_object", 500, "stored data is missing; see its log"],
  ["rollback_detected", 500, "stored data was rolled back to an older state; see its log"],
  ["internal", 500, "the service failed; see its log"],
] as const)(
  "answers to %s name neither objects nor system codes; the log does",
  async (code, status, detail) => {
    const log: string[] = [];
    const canary = "names/saffron failed with ENOTDIR";
    const list = () => Promise.reject(new SealdexError(code, canary));
    const store = { ...createMemoryStore(), list };
    service = await startService({ indexLocation: store, log: { write: (line) => log.push(line) } });
    expect(await service.get("/v1/indexes/list")).toEqual({
      status,
      body: { status_code: status, code, detail },
    });
    expect(log.join("")).toContain(canary);
  },
);

test("a request keeps its place until its work ends, even if its client leaves", async () => {
  let reached = () => {};
  const atStorage = new Promise<void>((resolve) => (reached = resolve));
  const storage = new AbortController();
  let isSlow = true;
  const list = async () => {
    reached();
    if (isSlow) await once(storage.signal, "abort");
    throw new SealdexError("corrupt", "damaged");
  };
  service = await startService({
    indexLocation: { ...createMemoryStore(), list },
    limits: { longRequestsMax: 1, waitingMax: 0 },
  });
  const body = { index_name: "x", index_key: "0".repeat(64) };
  const compact = () => service.post("/v1/indexes/compact", { ...body, index_name: "y" });
  const text = JSON.stringify(body);
  const responses: ServerResponse[] = [];
  const note = (message: unknown) => responses.push((message as { response: ServerResponse }).response);
  subscribe("http.server.request.start", note);
  const socket = open(
    `POST /v1/indexes/compact HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.apiKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  await atStorage;
  isSlow = false;
  unsubscribe("http.server.request.start", note);
  socket.resetAndDestroy();
  await Promise.all(responses.map((response) => once(response, "close")));
  expect(responses).toHaveLength(1);
  const refused = await compact();
  storage.abort();
  expect(refused.body).toMatchObject({ code: "overloaded" });
  await vi.waitFor(async () => expect((await compact()).body).toMatchObject({ code: "corrupt" }), 300_000);
});

test("pages and answers have headers that keep browsers from running or framing foreign content", async () => {
  service = await startService();
  for (const path of ["/docs/", "/docs/static/index.html", "/docs/static/swagger-ui-bundle.js"]) {
    const response = await fetch(service.baseUrl + path);
    const { status, headers } = response;
    await response.arrayBuffer();
    expect([path, status]).toEqual([path, 200]);
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*script-src 'self';/);
    expect(headers.get("content-security-policy")).toMatch(/frame-ancestors 'none'/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
  const { headers } = await fetch(`${service.baseUrl}/v1/openapi.json`, { method: "HEAD" });
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});
