/** Several processes of one service: shared state, replacement of one that dies, the end of all. Needs a build. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { Agent, request } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { restartPauseMs } from "../../packages/server/src/processes/supervise.js";
import { createClient, generateKey } from "../../src/core.js";
import { newFolder } from "../folder.js";

const program = join(dirname(fileURLToPath(import.meta.url)), "../../packages/server/bin/sealdex-server.js");
const rootKey = generateKey();

let folder: string;
let child: ChildProcess;
/** Resolves when neither it nor the processes that it started write to its output any more. */
let ended: Promise<unknown> | undefined;
let output: string;
let baseUrl: string;
beforeEach(async () => {
  folder = await newFolder();
});
afterEach(async () => {
  child.kill("SIGKILL");
  await ended;
});

const linesOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { readonly pid: number; readonly msg: string });
/** The processes that listen, in the order of their start. */
const listening = () =>
  linesOf(output)
    .filter(({ msg }) => msg.startsWith("Server listening at"))
    .map(({ pid }) => pid);

/** Resolves once `ready` of `count` processes listen. */
async function start(
  environment: Record<string, string> = {},
  count = 2,
  ready: number = count,
): Promise<void> {
  output = "";
  child = spawn(process.execPath, [program, "serve"], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      SEALDEX_PORT: "0",
      SEALDEX_PROCESSES: String(count),
      SEALDEX_INDEX_LOCATION: "file:./data",
      SEALDEX_ROOT_KEY: rootKey,
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  ended = once(child, "close");
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
  await until(() => listening().length >= ready);
  baseUrl = /listening at (http:[^"]+)/.exec(output)?.[1] ?? "";
}

const until = (holds: () => boolean) =>
  vi.waitFor(() => expect(holds(), output).toBe(true), { timeout: 300_000, interval: 20 });

/** A request on a connection of its own; connections go to the processes in turn. */
async function send(path: string, headers: Record<string, string> = {}, method = "GET", body?: object) {
  const agent = new Agent();
  const sent = request(baseUrl + path, { method, agent, headers: { "X-API-Key": rootKey, ...headers } });
  if (body !== undefined) sent.setHeader("Content-Type", "application/json");
  sent.end(body && JSON.stringify(body));
  const [response] = await once(sent, "response");
  let text = "";
  for await (const chunk of response) text += String(chunk);
  agent.destroy();
  return { status: response.statusCode as number, text };
}

/** Enough that every process gets some. */
const many = 8;

test("a process that dies is replaced, and the others serve meanwhile", async () => {
  await start();
  const index = createClient({ baseUrl, apiKey: rootKey });
  await index.createIndex({ indexName: "a", indexKey: generateKey() });
  const [first] = listening();
  process.kill(first, "SIGKILL");
  await until(() => output.includes("ended"));
  for (let i = 0; i < many; i++) expect((await send("/v1/indexes/list")).text).toContain('"a"');
  await until(() => listening().length === 3);
  expect(output).toMatch(/process \d+ ended \(SIGKILL\); another starts in 100 ms/);
  for (let i = 0; i < many; i++) expect((await send("/v1/health")).status).toBe(200);
});

test("a process that dies leaves no client waiting, not even one that it has not accepted", async () => {
  await start();
  const [first] = listening();
  process.kill(first, "SIGSTOP");
  let answered = 0;
  const answers = Array.from({ length: many }, () =>
    send("/v1/health").then(
      () => answered++,
      (error: NodeJS.ErrnoException) => error.code,
    ),
  );
  // The last one was sent to the process that is stopped.
  await until(() => answered === many - 1);
  process.kill(first, "SIGKILL");
  expect(await Promise.all(answers)).toContain("ECONNRESET");
});

test("pauses before a restart grow to half a minute", () => {
  expect([1, 2, 3, 9, 10, 1000].map(restartPauseMs)).toEqual([100, 200, 400, 25_600, 30_000, 30_000]);
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends all of them cleanly, even if each of them gets it",
  async (signal) => {
    await start({ SEALDEX_AUDIT_FOLDER: "./audit" });
    for (let i = 0; i < many; i++) await send("/v1/indexes/list");
    const closed = once(child, "close");
    // As a terminal and systemd send it, and more often: a worker that is stopping ignores it.
    for (let i = 0; i < 5; i++) for (const pid of listening()) process.kill(pid, signal);
    child.kill(signal);
    expect(await closed).toEqual([0, null]);
    expect(linesOf(output).filter(({ msg }) => msg === "stopped")).toHaveLength(2);
    // A chain of its own per process, each complete.
    expect(await readdir(join(folder, "audit"))).toHaveLength(2);
    const verify = spawn(process.execPath, [program, "audit", "verify", "audit"], {
      cwd: folder,
      env: { PATH: process.env.PATH, SEALDEX_INDEX_LOCATION: "file:./data", SEALDEX_ROOT_KEY: rootKey },
    });
    let verified = "";
    verify.stdout.on("data", (chunk) => (verified += String(chunk)));
    await once(verify, "close");
    expect(verified).toMatch(/^(audit-.*: [1-9]\d* lines, complete\n){2}$/);
  },
);

test("a signal while further processes start ends all of them", async () => {
  await start({}, 3, 1);
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exit).toEqual([0, null]);
  await ended;
});

test("a limit per minute holds for all of them together", async () => {
  await start({ SEALDEX_FAILED_KEYS_PER_MINUTE_MAX: "6" });
  const statuses: number[] = [];
  for (let i = 0; i < 20; i++) {
    statuses.push((await send("/v1/indexes/list", { "X-API-Key": generateKey() })).status);
  }
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(7);
  expect(statuses.at(-1)).toBe(429);
  expect((await send("/v1/indexes/list")).status).toBe(200);
  await until(() => output.includes("alarm: many invalid API keys"));
});

test("a revoked key is refused by all of them, once each has read its record again", async () => {
  await start({ SEALDEX_FAILED_KEYS_PER_MINUTE_MAX: "100000" });
  const created = await send("/v1/keys", {}, "POST", { name: "a", scopes: ["read"] });
  const { api_key: key, id } = JSON.parse(created.text) as Record<string, string>;
  const use = () => send("/v1/indexes/list", { "X-API-Key": key });
  for (let i = 0; i < many; i++) expect((await use()).status).toBe(200);
  expect((await send(`/v1/keys/${id}`, {}, "DELETE")).status).toBe(200);
  await vi.waitFor(
    async () => {
      for (let i = 0; i < many; i++) expect((await use()).status).toBe(401);
    },
    { timeout: 300_000, interval: 500 },
  );
});

test("metrics are those of all of them", async () => {
  await start({}, 3);
  for (let i = 0; i < 9; i++) await send("/v1/indexes/list");
  const count = async () => {
    const { text } = await send("/metrics");
    return Number(
      /^sealdex_requests_total\{method="GET",route="\/v1\/indexes\/list",status="200"\} (\d+)/m.exec(
        text,
      )?.[1],
    );
  };
  await vi.waitFor(async () => expect(await count()).toBe(9), 60_000);
  expect((await send("/v1/indexes/training-status")).text).toContain("[]");
});

test("settings that no process can start with end the service at once", async () => {
  child = spawn(process.execPath, [program, "serve"], {
    cwd: folder,
    env: { SEALDEX_PROCESSES: "3", SEALDEX_INDEX_LOCATION: "file:/proc/x", SEALDEX_ROOT_KEY: rootKey },
  });
  let errors = "";
  child.stderr?.on("data", (chunk) => (errors += String(chunk)));
  expect(await once(child, "close")).toEqual([1, null]);
  expect(errors).toMatch(/^error: local storage: [^\n]+\n$/);
});
