/** Who may call the HTTP server, and the conformance suite of the protocol. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, request, type RequestOptions } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type HttpServer, kill, startHttp, token, Workspace } from "./start-server.js";

const workspace = new Workspace();
let server: HttpServer;
beforeAll(async () => {
  workspace.write("a.md", "Some text");
  server = await startHttp(workspace.args("--folder", workspace.notes, "--allow-host", "notes.example"));
});
afterAll(async () => {
  await kill(server, "SIGTERM");
  workspace.remove();
});

const authorization = `Bearer ${token}`;
const accept = "application/json, text/event-stream";
const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

/** `fetch` sends no other `Host`. */
async function send(
  headers: Record<string, string>,
  options: RequestOptions = {},
  path = "",
): Promise<number> {
  const url = new URL(server.url + path);
  const sent = request(url, {
    method: "POST",
    ...options,
    headers: { "Content-Type": "application/json", accept, ...headers },
  });
  sent.end(options.method === "GET" ? undefined : list);
  const [response] = (await once(sent, "response")) as [{ statusCode: number; resume(): void }];
  response.resume();
  return response.statusCode;
}

test("a request needs the token", async () => {
  expect(await send({ authorization })).toBe(200);
  for (const other of [undefined, "", token, "Bearer ", `${authorization}x`, `Basic ${token}`])
    expect(await send(other === undefined ? {} : { authorization: other })).toBe(401);
});

test("names and origins that were not allowed are refused, as after DNS rebinding", async () => {
  for (const host of ["localhost", "127.0.0.1:1", "[::1]:80", "notes.example", "notes.example:443"])
    expect(await send({ authorization, host }), host).toBe(200);
  for (const host of [
    "evil.example",
    "localhost.evil.example",
    "notes.example.evil.example",
    "127.0.0.1@evil.example",
  ])
    expect(await send({ authorization, host }), host).toBe(403);
  expect(await send({ authorization, origin: "http://localhost:5173" })).toBe(200);
  for (const origin of ["https://evil.example", "null", "http://localhost.evil.example"])
    expect(await send({ authorization, origin }), origin).toBe(403);
});

test("there is one path and one method, and a body has a limit", async () => {
  expect(await send({ authorization }, {}, "/other")).toBe(404);
  for (const path of ["//", "http://[", "*"]) expect(await send({ authorization }, { path }), path).toBe(404);
  expect(await send({ authorization }, { method: "GET" })).toBe(405);
  const response = await fetch(server.url, {
    method: "POST",
    headers: { authorization, accept, "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { text: "x".repeat(8_000_000) } }),
  });
  expect(response.ok).toBe(false);
});

test("it listens on this machine only", () => {
  expect(new URL(server.url).hostname).toBe("127.0.0.1");
});

test("without a token of 16 characters it does not start", async () => {
  const { SEALDEX_MCP_TOKEN: _, ...env } = process.env;
  const program = fileURLToPath(new URL("../dist/main.js", import.meta.url));
  const run = (more: NodeJS.ProcessEnv) =>
    promisify(execFile)(process.execPath, [program, ...workspace.args("--http", "0")], {
      env: { ...env, ...more },
    });
  for (const more of [{}, { SEALDEX_MCP_TOKEN: "short" }])
    await expect(run(more)).rejects.toThrow("expected a token of 16 characters");
});

test.each(["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"])(
  "conformance suite: %s",
  async (scenario) => {
    // The suite sends no token.
    const proxy = createServer((incoming, outgoing) => {
      const headers = { ...incoming.headers, authorization };
      const forwarded = request(server.url, { method: incoming.method ?? "GET", headers }, (response) => {
        outgoing.writeHead(response.statusCode ?? 500, response.headers);
        response.pipe(outgoing);
      });
      incoming.pipe(forwarded);
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
    const suite = fileURLToPath(
      new URL("../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
    );
    const args = [suite, "server", "--url", url, "--scenario", scenario, "-o", workspace.root];
    try {
      const { stdout } = await promisify(execFile)(process.execPath, args);
      expect(stdout).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed/);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  },
);
