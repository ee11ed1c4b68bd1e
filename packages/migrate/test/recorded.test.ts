/**
 * Services that do not run here answer from recorded conversations: a real Chroma server's, and those
 * that the documentation of Qdrant and of Pinecone describes.
 */

import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Workspace } from "./run-command.js";

interface Call {
  readonly call: string;
  /** As a text where a number of JavaScript would change it. */
  readonly body?: unknown;
  readonly response: string;
}

interface Replay {
  readonly origin: string;
  /** Headers of every request. */
  readonly headers: readonly IncomingMessage["headers"][];
}

/** Answers any recorded request, in any order. `busy` requests fail first, as those of a busy service. */
async function replay(name: string, busy = 0): Promise<Replay> {
  const file = new URL(`./conversations/${name}.json`, import.meta.url);
  const calls = JSON.parse(await readFile(file, "utf8")) as Call[];
  const known = new Map(calls.map(({ call, body, response }) => [keyOf(call, body), response]));
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      headers.push(request.headers);
      const body = Buffer.concat(parts).toString();
      const answer = known.get(keyOf(`${request.method} ${request.url}`, body || undefined));
      const isBusy = headers.length <= busy;
      response.writeHead(isBusy ? 429 : answer === undefined ? 404 : 200).end(answer ?? "not recorded");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, headers };
}

function keyOf(call: string, body: unknown): string {
  return `${call} ${body === undefined || typeof body === "string" ? body : JSON.stringify(body)}`;
}

const float32 = (...numbers: readonly number[]) => numbers.map(Math.fround);

test("Chroma", async () => {
  const { origin, headers } = await replay("chroma", 2);
  const workspace = await Workspace.create();
  const run = await workspace.run(`chroma:${origin}/notes`, [], { CHROMA_API_KEY: "secret" });
  expect(run.stdout).toContain("metadata.big: integer beyond 2^53 (1)");
  expect(run.code).toBe(0);
  expect(headers[0]["x-chroma-token"]).toBe("secret");
  expect(await workspace.items()).toEqual({
    a: {
      vector: float32(1, 0, 0.1),
      contents: "first",
      metadata: { big: "9007199254740993", float: 1.5, yes: true, tags: ["x", "y"] },
    },
    b: { vector: float32(0, 1, 0.2), contents: undefined, metadata: {} },
    c: { vector: float32(0.5, 0.5, 0.3), contents: "third \u2028", metadata: { n: 3 } },
    ü: { vector: [0, 0, 1], contents: "", metadata: { t: "" } },
  });
});

test("Qdrant", async () => {
  const { origin, headers } = await replay("qdrant");
  const workspace = await Workspace.create();
  const run = await workspace.run(`qdrant:${origin}/notes`, [], { QDRANT_API_KEY: "secret" });
  expect(run.stdout).toContain("Not moved, without a vector: 1 row (18446744073709551614).");
  expect(run.stdout).toContain("metadata.big: integer beyond 2^53 (1)");
  expect(run.code).toBe(0);
  expect(headers[0]["api-key"]).toBe("secret");
  expect(await workspace.items()).toEqual({
    "1": {
      vector: float32(1, 0, 0.1),
      contents: "first",
      metadata: { page: 1, none: null, deep: { list: [1, { a: null }] }, big: "9007199254740993" },
    },
    "5c56c793-69f3-4fbf-87e6-c4bf54c28c26": {
      vector: float32(0, 1, 0.2),
      contents: "second",
      metadata: { id: "inner", vector: "word", metadata: "plain" },
    },
    "18446744073709551615": { vector: float32(0.5, 0.5, 0.3), contents: undefined, metadata: {} },
  });
});

test("Pinecone", async () => {
  const { origin, headers } = await replay("pinecone");
  const workspace = await Workspace.create();
  const refused = await workspace.run(`pinecone:${origin}/team`, [], { PINECONE_API_KEY: "" });
  expect(refused.stderr).toContain("PINECONE_API_KEY");
  const run = await workspace.run(`pinecone:${origin}/team`, ["--namespace", "team"], {
    PINECONE_API_KEY: "secret",
  });
  expect(run.stdout).toContain("Check: all 3 ids are in the index.");
  expect(run.code).toBe(0);
  expect(headers[0]["api-key"]).toBe("secret");
  expect(await workspace.items("team")).toEqual({
    "a#1": {
      vector: float32(1, 0, 0.1),
      contents: "first",
      metadata: { tags: ["x", "y"], score: 0.5 },
    },
    "b&2": { vector: float32(0, 1, 0.2), contents: undefined, metadata: { count: 2, flag: false } },
    c: {
      vector: float32(0.5, 0.5, 0.3),
      contents: undefined,
      metadata: { sparseValues: { indices: [1, 5], values: [0.5, 0.25] } },
    },
  });
});

test("a service that refuses ends the run in one line, without the key, and redirects are not followed", async () => {
  const { origin } = await replay("qdrant");
  const workspace = await Workspace.create();
  const run = await workspace.run(`qdrant:${origin}/other`, [], { QDRANT_API_KEY: "secret-api-key" });
  expect(run.stderr).toBe(`error: ${origin}/collections/other: 404 not recorded\n`);
  const other = createServer((_, response) => response.writeHead(307, { Location: `${origin}/` }).end());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const moved = await workspace.run(`qdrant:http://127.0.0.1:${port}/notes`, [], {
    QDRANT_API_KEY: "secret-api-key",
  });
  expect(moved.stderr).toContain("redirects to another address");
  expect(moved.stderr).not.toContain("secret-api-key");
});

test("a service that repeats a request with its index key has the key left out of the message", async () => {
  const key = "5ea1".repeat(16);
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => response.writeHead(422).end(`{"input":${Buffer.concat(parts).toString()}}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const workspace = await Workspace.create();
  await workspace.writeJson("old.key", `${key}\n`);
  const from = ["--from-key-file", "old.key"];
  const { stderr } = await workspace.run(`cyborgdb:http://127.0.0.1:${port}/old`, from);
  expect(stderr).toMatch(/^error: .*: 422 .*"index_name":"old","index_key":"…".*\n$/);
});
