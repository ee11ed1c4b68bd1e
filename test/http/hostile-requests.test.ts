/** Requests as attackers write them, on the service as its users run it: an answer below 500 in JSON, and no error in its log. */

import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { type ServiceProcess, startProcess } from "./service-process.js";

const rootKey = generateKey();
let service: ServiceProcess;
let log = "";
beforeAll(async () => {
  service = await startProcess({
    SEALDEX_ROOT_KEY: rootKey,
    SEALDEX_INDEX_LOCATION: "memory:",
    SEALDEX_BODY_BYTES_MAX: `${2 ** 25}`,
  });
  service.child.stdout?.on("data", (chunk: Buffer) => (log += chunk.toString()));
});
afterAll(() => service.kill());

interface Reply {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends bytes on a connection of their own, and resolves to the answer until it ends. */
async function exchange(text: string): Promise<Reply> {
  const { hostname, port } = new URL(service.baseUrl);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
  socket.write(text, "latin1");
  await once(socket, "close");
  const [head, ...rest] = answer.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "").split("\r\n\r\n");
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]), head, body: rest.join("\r\n\r\n") };
}

const bases = ["/", "/docs/", "/docs/static/", "/admin/", "/v1/", "/v1/indexes/", "/v1/keys/", "/metrics"];
const parts = [
  "..",
  "%2e%2e",
  "%2E./",
  "..%2f..%2fpackage.json",
  "%00",
  "x%00.js",
  "%",
  "%zz",
  "%e0%80",
  "%ed%a0%80",
  "%c0%ae%c0%ae",
  "..%5c..%5cx",
  "..\\..\\x",
  ".git/config",
  "//",
  "//x//",
  ";a=b",
  ":id",
  "*",
  "a b",
  "\u00e9",
  "\x7f",
  "?",
  "?limit=-1&after=%00",
  "?limit[]=1&limit=2",
  "#x",
  "__proto__",
  "constructor/users",
  "%00/users",
  "a".repeat(3000),
  "a/".repeat(500),
  "%25%32%65",
  "json%00",
  "index.html%20",
];
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"];
const headers = [
  "Range: bytes=5-1",
  "Range: bytes=0-0,2-3,-1",
  "If-None-Match: \x01",
  "If-Modified-Since: never",
  "Accept: \x80\xff",
  "Accept-Encoding: gzip;q=x, *",
  "Content-Type: application/json; charset=\u00ff",
  "Content-Type: ",
  "Content-Type: multipart/form-data",
  "Content-Encoding: br",
  "Content-Encoding: gzip, gzip",
  "Content-Length: 0",
  "Content-Length: 99999999999999999999",
  "Content-Length: 1e3",
  "Transfer-Encoding: gzip",
  "Transfer-Encoding: chunked, chunked",
  "Expect: 100-continue",
  "Expect: everything",
  "Upgrade: websocket",
  "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
  "X-API-Key: \r\nX-API-Key: x",
  "X-API-Key: sealdex_" + "0".repeat(88),
  "X-Request-Id: \x0b",
  "X-Forwarded-For: \x00",
  "X-HTTP-Method-Override: DELETE",
  "traceparent: 00-" + "0".repeat(32) + "-" + "0".repeat(16) + "-ff",
  "Cookie: __proto__=1",
  "Origin: null",
  ": no name",
  "no colon",
  " folded: x",
  "X-\x80: y",
];

/** In pairs, so that a request is refused for its path as well as for its headers. */
function* requests(): Generator<string> {
  const end = "Connection: close\r\n\r\n";
  for (const base of bases) {
    for (const part of parts) yield `GET ${base}${part} HTTP/1.1\r\nHost: x\r\n${end}`;
    for (const method of methods) yield `${method} ${base} HTTP/1.1\r\nHost: x\r\n${end}`;
  }
  for (const [i, header] of headers.entries()) {
    for (const base of bases) {
      yield `GET ${base}${parts[i % parts.length]} HTTP/1.1\r\nHost: x\r\n${header}\r\n${end}`;
    }
    for (const key of [rootKey, ""]) {
      const credentials = key === "" ? "" : `X-API-Key: ${key}\r\n`;
      yield `GET /v1/indexes/list HTTP/1.1\r\nHost: x\r\n${credentials}${header}\r\n${end}`;
      yield `POST /v1/vectors/query HTTP/1.1\r\nHost: x\r\n${credentials}${header}\r\n${end}`;
    }
  }
  yield `GET http://x/docs/static/../x HTTP/1.1\r\nHost: x\r\n${end}`;
  yield `GET * HTTP/1.1\r\nHost: x\r\n${end}`;
  yield `OPTIONS * HTTP/1.1\r\nHost: x\r\n${end}`;
  yield `GET / HTTP/1.0\r\n\r\n`;
  yield `GET / HTTP/9.9\r\nHost: x\r\n${end}`;
  yield `GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n${end}`;
  yield "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
}

test("no path, method or header is an error of the service", async () => {
  const all = [...requests()];
  const wrong: unknown[] = [];
  for (let i = 0; i < all.length; i += 16) {
    await Promise.all(
      all.slice(i, i + 16).map(async (text) => {
        const { status, head, body } = await exchange(text);
        const request = JSON.stringify(text.slice(0, 200));
        if (!(status >= 200 && status < 500)) wrong.push([request, head, body.slice(0, 200)]);
        if (/\n\s+at /.test(body)) wrong.push([request, "a stack"]);
        if (status < 400 || text.startsWith("HEAD")) return;
        const isJson = /^content-type: application\/json/im.test(head);
        if (!isJson || !isError(body)) wrong.push([request, head, body.slice(0, 200)]);
      }),
    );
  }
  expect(wrong).toEqual([]);
  expect((await fetch(`${service.baseUrl}/v1/health`)).status).toBe(200);
  expect(log.split("\n").filter((line) => line.includes('"level":50'))).toEqual([]);
});

function isError(body: string): boolean {
  try {
    return Object.hasOwn(JSON.parse(body) as object, "detail");
  } catch {
    return false;
  }
}

async function post(path: string, body: Uint8Array<ArrayBuffer>, encoding?: string) {
  const response = await fetch(service.baseUrl + path, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-API-Key": rootKey,
      ...(encoding !== undefined && { "Content-Encoding": encoding }),
    },
    body,
  });
  return { status: response.status, body: (await response.json()) as { detail?: unknown } };
}

test("a body may be compressed with gzip, and with nothing else", async () => {
  const address = { index_name: "compressed", index_key: generateKey() };
  const create = Buffer.from(JSON.stringify({ ...address, index_config: { type: "ivfflat", dimension: 2 } }));
  expect(await post("/v1/indexes/create", gzipSync(create), "gzip")).toMatchObject({ status: 200 });
  const items = Array.from({ length: 20_000 }, (_, i) => ({ id: `${i}`, vector: [i, 1] }));
  const upsert = gzipSync(JSON.stringify({ ...address, items }));
  expect(await post("/v1/vectors/upsert", upsert, "GZIP")).toMatchObject({ status: 200 });
  const count = Buffer.from(JSON.stringify(address));
  expect(await post("/v1/vectors/num_vectors", count, "identity")).toMatchObject({
    body: { result: 20_000 },
  });
  for (const encoding of ["br", "deflate", "zstd", "gzip, gzip", "x", "gzip, identity"]) {
    const { status, body } = await post("/v1/vectors/num_vectors", gzipSync(count), encoding);
    expect([status, body.detail]).toEqual([
      415,
      expect.stringMatching(/Content-Encoding: expected .* gzip$/),
    ]);
  }
});

test("a compressed body counts with the size that it has when it is not", async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, "a"));
  // Compressed, it is within every limit but that of small bodies.
  expect(bomb.length).toBeLessThan(70_000);
  const before = log.length;
  for (const path of ["/v1/indexes/describe", "/v1/vectors/query", "/v1/vectors/upsert"]) {
    expect(await post(path, bomb, "gzip")).toMatchObject({ status: 413 });
  }
  expect(log.slice(before)).not.toContain('"level":50');
});

test("bodies that are declared as gzip and are not, or are cut short, are refused like invalid JSON", async () => {
  const whole = gzipSync(JSON.stringify({ index_name: "x", index_key: generateKey() }));
  for (const body of [
    Buffer.from("{}"),
    whole.subarray(0, 20),
    Buffer.concat([whole.subarray(0, 20), Buffer.alloc(30)]),
  ]) {
    const { status, body: answer } = await post("/v1/vectors/num_vectors", Uint8Array.from(body), "gzip");
    expect(status).toBe(422);
    expect(answer.detail).toMatchObject([{ loc: ["body"], msg: "expected gzip, as Content-Encoding says" }]);
  }
});
