/** `sealdex-server` as its users run it: a process of its own, settings in the environment, signals. Needs a build. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { buildModels } from "../embedding/small-models.js";
import { newFolder } from "../folder.js";
import { fillFileSystem, needsRoot, removeFileSystem, smallFileSystem } from "../small-file-system.js";

const server = join(dirname(fileURLToPath(import.meta.url)), "../../packages/server");
const program = join(server, "bin/sealdex-server.js");
const run = promisify(execFile);

let folder: string;
let running: ChildProcess | undefined;
/** Its output. */
let output: string;
beforeEach(async () => {
  folder = await newFolder();
});
afterEach(async () => {
  running?.kill("SIGKILL");
  running = undefined;
});

/** Resolves to the base URL once the service says that it listens. */
function serve(environment: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [program, "serve"], {
    cwd: folder,
    env: { PATH: process.env.PATH, SEALDEX_PORT: "0", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running = child;
  return new Promise((resolve, reject) => {
    output = "";
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      const [, url] = /listening at (http:\/\/[\d.:]+)/.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", (code) => reject(new Error(`exited with ${code}: ${output}`)));
  });
}

function stop(signal: NodeJS.Signals): Promise<number | null> {
  const child = running as ChildProcess;
  // Not "exit", which may come before the last of the output.
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  child.kill(signal);
  return exit;
}

test("generate-key prints a key", async () => {
  const { stdout } = await run(process.execPath, [program, "generate-key"]);
  expect(stdout).toMatch(/^[0-9a-f]{64}\n$/);
});

test.each(["SIGTERM", "SIGINT"] as const)("serve keeps items, and %s ends it cleanly", async (signal) => {
  const apiKey = generateKey();
  const environment = {
    SEALDEX_INDEX_LOCATION: "file:./data",
    SEALDEX_API_KEYS: `another-of-many-letters,${apiKey}`,
  };
  const options = { indexName: "kept", indexKey: generateKey() };
  const first = createClient({ baseUrl: await serve(environment), apiKey });
  const index = await first.createIndex(options);
  await index.upsert([{ id: "a", vector: [1, 2], metadata: { n: 1 } }]);
  expect(await stop(signal)).toBe(0);
  await expect(index.count()).rejects.toMatchObject({ code: "storage_unavailable" });

  const second = createClient({ baseUrl: await serve(environment), apiKey });
  const again = await second.loadIndex(options);
  expect(await again.query({ queryVector: [1, 2], include: ["metadata"] })).toEqual([
    { id: "a", metadata: { n: 1 } },
  ]);
  expect(await stop(signal)).toBe(0);
});

test.each<[string, Record<string, string>, RegExp]>([
  ["API keys", { SEALDEX_INDEX_LOCATION: "memory:" }, /^error: SEALDEX_ROOT_KEY: expected .*generate-key/],
  [
    "a location",
    { SEALDEX_API_KEYS: "x".repeat(16) },
    /^error: SEALDEX_INDEX_LOCATION: expected where to keep/,
  ],
])(
  "serve does not start without %s, and names the missing settings in one line",
  async (_, environment, message) => {
    const attempt = run(process.execPath, [program, "serve"], { cwd: folder, env: environment });
    await expect(attempt).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
    await expect(attempt).rejects.toMatchObject({ stderr: expect.stringMatching(/^[^\n]+\n$/) });
  },
);

test("serve takes its settings from a file, and warns of variables that are no settings", async () => {
  const file = 'index_location: "memory:"\nroot_key: ${KEY}${KEY}\nport: 0\nhost: 127.0.0.1\n';
  await writeFile(join(folder, "sealdex.yaml"), file);
  const baseUrl = await serve({
    SEALDEX_CONFIG: "sealdex.yaml",
    KEY: "0123456789abcdef",
    SEALDEX_PROT: "saffron",
  });
  const headers = { "X-API-Key": "0123456789abcdef".repeat(2) };
  expect((await fetch(`${baseUrl}/v1/indexes/list`, { headers })).status).toBe(200);
  expect(output).toMatch(/"level":40.*SEALDEX_PROT.*did you mean/);
  expect(output).not.toMatch(/saffron|0123456789abcdef/);
  const { port } = new URL(baseUrl);
  const health = (...args: string[]) =>
    run(process.execPath, [program, "health", ...args], {
      cwd: folder,
      env: { SEALDEX_CONFIG: "sealdex.yaml", KEY: "0123456789abcdef", SEALDEX_PORT: port },
    });
  expect((await health()).stdout).toBe(`running (127.0.0.1, port ${port})\n`);
  expect((await health("--ready")).stdout).toBe(`ready (127.0.0.1, port ${port})\n`);
  await stop("SIGTERM");
  await expect(health()).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: `error: the service is not running (127.0.0.1, port ${port})\n`,
  });
  const { stdout } = await run(process.execPath, [program, "keys", "create", "--help"]);
  expect(stdout).toContain("--config <file>");
});

test.each(["file:/proc/x", "file:/proc/x/y/z", "file:/dev/null/x", "file:/etc/hostname"])(
  "serve refuses the location %s, which cannot hold an index, and says so in one line",
  async (location) => {
    const env = { SEALDEX_PORT: "0", SEALDEX_INDEX_LOCATION: location, SEALDEX_API_KEYS: "x".repeat(16) };
    await expect(run(process.execPath, [program, "serve"], { env })).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^error: local storage: [^\n]+\n$/),
    });
  },
);

test("SIGTERM ends a service on whose connections nothing is asked, and the log says so", async () => {
  const environment = { SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_API_KEYS: "x".repeat(16) };
  const { port } = new URL(await serve(environment));
  const [silent, slow, idle] = await Promise.all(
    ["", "GET /v1/health HTTP/1.1\r\nX-Y: ", "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"].map(
      async (bytes) => {
        const socket = connect(Number(port), "127.0.0.1");
        await once(socket, "connect");
        socket.write(bytes);
        return socket;
      },
    ),
  );
  await once(idle, "data");
  const closed = [silent, slow, idle].map((socket) => once(socket.resume(), "close"));
  expect(await stop("SIGTERM")).toBe(0);
  await Promise.all(closed);
  expect(output).toMatch(/"SIGTERM: stopping after the running requests".*"stopped"/s);
});

test("SIGTERM ends a service when its running requests are answered, though their clients keep connections", async () => {
  const apiKey = generateKey();
  const environment = { SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_API_KEYS: apiKey };
  const { port } = new URL(await serve(environment));
  const body = JSON.stringify({ index_name: "a", index_key: generateKey() });
  const socket = connect(Number(port), "127.0.0.1");
  const head = `Host: x\r\nX-API-Key: ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  socket.write(`POST /v1/indexes/create HTTP/1.1\r\n${head}Expect: 100-continue\r\n\r\n`);
  await once(socket, "data");
  const stopped = stop("SIGTERM");
  await vi.waitFor(() => expect(output).toContain("stopping after the running requests"), {
    timeout: 300_000,
  });
  let answers = "";
  socket.on("data", (chunk: Buffer) => (answers += chunk.toString()));
  socket.write(body);
  await once(socket, "close");
  expect(answers).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
  expect(await stopped).toBe(0);
});

test("SIGTERM ends a service though requests are never sent whole", async () => {
  const apiKey = generateKey();
  const environment = { SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_API_KEYS: apiKey };
  const { port } = new URL(await serve({ ...environment, SEALDEX_REQUEST_MS_MAX: "2000" }));
  const head = `Host: x\r\nX-API-Key: ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n`;
  const texts = [
    `POST /v1/indexes/create HTTP/1.1\r\n${head}Expect: 100-continue\r\n\r\n{`,
    `GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/he`,
  ];
  for (const text of texts) {
    const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined);
    socket.write(text);
    await once(socket, "data");
  }
  expect(await stop("SIGTERM")).toBe(0);
});

test("a service that others can reach without TLS says so when it starts", async () => {
  const environment = { SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_API_KEYS: "x".repeat(16) };
  await serve({ ...environment, SEALDEX_HOST: "0.0.0.0" });
  expect(output).toMatch(/"level":40.*TLS/);
});

test("on a terminal, serve says where to look, and writes requests as text", async () => {
  const environment = { SEALDEX_INDEX_LOCATION: "file:./data", SEALDEX_API_KEYS: "x".repeat(16) };
  const child = spawn("script", ["-qfec", `${process.execPath} ${program} serve`, "/dev/null"], {
    cwd: folder,
    env: { PATH: process.env.PATH, SEALDEX_PORT: "0", ...environment },
    stdio: ["pipe", "pipe", "inherit"],
  });
  running = child;
  output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const started =
    /^Sealdex [\d.]+ at (http:\/\/127\.0\.0\.1:\d+) · dashboard \/admin · API \/docs · storage \.\/data\r\n/;
  await expect.poll(() => output, { timeout: 300_000 }).toMatch(started);
  const [, baseUrl] = started.exec(output) ?? [];
  await fetch(`${baseUrl}/v1/health`);
  await fetch(`${baseUrl}/v1/indexes/list`);
  await expect
    .poll(() => output, { timeout: 300_000 })
    .toMatch(
      /\d\d:\d\d:\d\d GET \/v1\/health 200 \(\d+ ms\)\r\n.* GET \/v1\/indexes\/list 401 unauthenticated \(/,
    );
  expect(output).not.toContain("{");
});

test("serve says in one line that its port is taken", async () => {
  const other = createServer();
  await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
  const address = other.address() as { port: number };
  const env = {
    SEALDEX_PORT: `${address.port}`,
    SEALDEX_INDEX_LOCATION: "memory:",
    SEALDEX_API_KEYS: "x".repeat(16),
  };
  await expect(run(process.execPath, [program, "serve"], { env })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: SEALDEX_HOST, SEALDEX_PORT: .*EADDRINUSE.*\n$/),
  });
  other.close();
});

test("serve names the setting of an address that this machine does not have, and of an audit folder that is a file", async () => {
  await writeFile(join(folder, "file"), "");
  const usual = { SEALDEX_PORT: "0", SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_ROOT_KEY: generateKey() };
  for (const wrong of [{ SEALDEX_HOST: "192.0.2.1" }, { SEALDEX_AUDIT_FOLDER: "./file" }]) {
    const [name] = Object.keys(wrong);
    const serving = run(process.execPath, [program, "serve"], { cwd: folder, env: { ...usual, ...wrong } });
    await expect(serving).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`^error: ${name}.* E[A-Z]+: `)),
    });
  }
});

test("keys are created, listed and revoked while a service runs", async () => {
  const rootKey = generateKey();
  const environment = { SEALDEX_INDEX_LOCATION: "file:./data", SEALDEX_ROOT_KEY: rootKey };
  const keys = (...args: string[]) =>
    run(process.execPath, [program, "keys", ...args], { cwd: folder, env: environment });
  const baseUrl = await serve(environment);
  const list = async (apiKey: string) =>
    (await fetch(`${baseUrl}/v1/indexes/list`, { headers: { "X-API-Key": apiKey } })).status;
  expect(await list(rootKey)).toBe(200);

  const options = ["--name", "reader", "--scope", "read", "--index", "a", "b", "--expires", "2999-12-31"];
  const { stdout, stderr } = await keys("create", ...options);
  const apiKey = stdout.trim();
  const [, id] = /^id ([0-9a-f]{16})\n$/.exec(stderr) ?? [];
  expect(await list(apiKey)).toBe(200);
  const listed = (await keys("list")).stdout;
  expect(JSON.parse(listed)).toMatchObject({ id, name: "reader", scopes: ["read"], indexes: ["a", "b"] });
  expect(JSON.parse(listed)).toMatchObject({ expires: "2999-12-31T00:00:00.000Z" });
  expect(listed).not.toContain(apiKey.slice(24, -8));

  await keys("revoke", id);
  expect((await keys("list")).stdout).toBe("");
  await expect(keys("revoke", id)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: API key: no key has this id/),
  });
  await stop("SIGTERM");
  const restarted = await serve(environment);
  const answer = await fetch(`${restarted}/v1/indexes/list`, { headers: { "X-API-Key": apiKey } });
  expect(answer.status).toBe(401);
});

test("the audit log of a service and of key commands verifies, and no longer once a line is gone", async () => {
  const environment = {
    SEALDEX_INDEX_LOCATION: "file:./data",
    SEALDEX_ROOT_KEY: generateKey(),
    SEALDEX_AUDIT_FOLDER: "./audit",
  };
  const command = (...args: string[]) =>
    run(process.execPath, [program, ...args], { cwd: folder, env: environment });
  const baseUrl = await serve(environment);
  const headers = { "X-API-Key": environment.SEALDEX_ROOT_KEY };
  for (let i = 0; i < 3; i++) await fetch(`${baseUrl}/v1/indexes/list`, { headers });
  expect(await stop("SIGTERM")).toBe(0);
  await command("keys", "create", "--name", "a", "--scope", "read");
  const { stdout } = await command("audit", "verify");
  expect(stdout).toMatch(/^audit-[0-9a-f]{28}\.jsonl: 3 lines, complete\naudit-.*: 1 lines, complete\n$/);

  const [name] = (await readdir(join(folder, "audit"))).sort();
  const path = join(folder, "audit", name);
  const lines = (await readFile(path, "utf8")).split("\n");
  await writeFile(path, lines.toSpliced(1, 1).join("\n"));
  await expect(command("audit", "verify")).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/: line 2 was written as line 3, after another line\n/),
  });
});

test("no key is issued or revoked without the audit log", async () => {
  const environment = { SEALDEX_INDEX_LOCATION: "file:./data", SEALDEX_ROOT_KEY: generateKey() };
  const command = (args: string[], env: Record<string, string>) =>
    run(process.execPath, [program, "keys", ...args], { cwd: folder, env });
  await command(["create", "--name", "first", "--scope", "read"], environment);
  const { stdout: before } = await command(["list"], environment);
  const { id } = JSON.parse(before) as { readonly id: string };
  await writeFile(join(folder, "file"), "");
  const unwritable = { ...environment, SEALDEX_AUDIT_FOLDER: "./file/audit" };
  for (const args of [
    ["create", "--name", "second", "--scope", "read"],
    ["revoke", id],
  ]) {
    await expect(command(args, unwritable)).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^error: SEALDEX_AUDIT_FOLDER: expected a folder/),
    });
  }
  expect((await command(["list"], unwritable)).stdout).toBe(before);
});

test("no key is issued or revoked whose line has no room in the audit log", async ({ skip }) => {
  const audit = await smallFileSystem("64k");
  if (audit === undefined) return skip(needsRoot);
  try {
    await fillFileSystem(audit);
    const locations = { SEALDEX_INDEX_LOCATION: "file:./data", SEALDEX_ROOT_KEY: generateKey() };
    const env = { ...locations, SEALDEX_AUDIT_FOLDER: audit };
    const args = ["keys", "create", "--name", "a", "--scope", "read"];
    const creating = run(process.execPath, [program, ...args], { cwd: folder, env });
    const stderr = expect.stringMatching(/^error: SEALDEX_AUDIT_FOLDER: .*ENOSPC/);
    await expect(creating).rejects.toMatchObject({ code: 1, stdout: "", stderr });
    const { stdout } = await run(process.execPath, [program, "keys", "list"], { cwd: folder, env });
    expect(stdout).toBe("");
  } finally {
    await removeFileSystem(audit);
  }
});

test.each<[string[], Record<string, string>, RegExp]>([
  [["list"], { SEALDEX_INDEX_LOCATION: "file:./data" }, /^error: SEALDEX_ROOT_KEY: expected the root key/],
  [["list"], { SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_ROOT_KEY: "r".repeat(32) }, /^error: .*memory:/],
  [
    ["create", "--name", "a", "--scope", "read", "--expires", "soon"],
    { SEALDEX_INDEX_LOCATION: "file:./data", SEALDEX_ROOT_KEY: "r".repeat(32) },
    /^error: --expires: expected/,
  ],
  [
    ["create", "--name", "a", "--scope", "read", "--expires", "3600"],
    { SEALDEX_INDEX_LOCATION: "file:./data", SEALDEX_ROOT_KEY: "r".repeat(32) },
    /^error: --expires: expected/,
  ],
  [["create", "--name", "a", "--scope", "root"], {}, /^error: .*Allowed choices are read, write, admin/],
  [["create", "--scope", "read"], {}, /^error: required option '--name <text>'/],
])("keys %j with %j reports the error in one line", async (args, env, message) => {
  const attempt = run(process.execPath, [program, "keys", ...args], { cwd: folder, env });
  await expect(attempt).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(message),
  });
});

test("the README's requests work, one after the other", async () => {
  const readme = await readFile(join(server, "README.md"), "utf8");
  const requests = [...readme.matchAll(/^curl -s localhost:8000(\S+) -H .*?(?: -d '(\{.*?\n\}))?'?$/gms)];
  expect(requests.length).toBeGreaterThan(5);
  const apiKey = generateKey();
  const indexKey = generateKey();
  const baseUrl = await serve({ SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_ROOT_KEY: apiKey });
  for (const [text, path, body] of requests) {
    const response = await fetch(baseUrl + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": apiKey },
      body: body?.replaceAll(`'"$INDEX_KEY"'`, indexKey),
    });
    expect(response.status, text).toBe(200);
  }
});

test("export and import move an index, and continue after a line that is no item", async () => {
  const location = { location: "local", path: join(folder, "data") } as const;
  const keyFile = join(folder, "index.key");
  const indexKey = generateKey();
  await writeFile(keyFile, `${indexKey}\n`);
  const client = createClient({ indexLocation: location });
  const from = await client.createIndex({ indexName: "from", indexKey });
  await client.createIndex({ indexName: "to", indexKey });
  const items = Array.from({ length: 5 }, (_, i) => ({ id: `${i}`, vector: [i, 0.1], metadata: { i } }));
  await from.upsert(items);
  const env = { PATH: process.env.PATH, SEALDEX_INDEX_LOCATION: "file:./data" };
  const command = (verb: string, index: string, ...more: string[]) =>
    run(process.execPath, [program, verb, "--index", index, "--key-file", keyFile, ...more], {
      cwd: folder,
      env,
    });
  const { stdout } = await command("export", "from", "--filter", '{"i":{"$gte":1}}');
  expect(stdout.trim().split("\n")).toHaveLength(4);
  expect(stdout).not.toContain(indexKey);
  const importing = (lines: string, ...more: string[]) => {
    const done = command("import", "to", ...more);
    done.child.stdin?.end(lines);
    return done;
  };
  const cut = stdout.slice(0, -10);
  await expect(importing(cut)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/to resume: --from-line 1\n.*error: line 4: expected a JSON object/s),
  });
  await importing(stdout, "--from-line", "1");
  await client.close();
  const again = createClient({ indexLocation: location });
  const to = await again.loadIndex({ indexName: "to", indexKey });
  const original = await again.loadIndex({ indexName: "from", indexKey });
  expect(await to.get(["1", "4"])).toEqual(await original.get(["1", "4"]));
  expect(await to.count()).toBe(4);
  await again.close();
  await expect(
    run(process.execPath, [program, "export", "--index", "from"], { cwd: folder, env }),
  ).rejects.toMatchObject({
    stderr: expect.stringContaining("--key-file"),
  });
});

test("import embeds texts with the models that the service has", async () => {
  const localFolder = await buildModels();
  const location = { location: "local", path: join(folder, "data") } as const;
  const keyFile = join(folder, "index.key");
  const indexKey = generateKey();
  await writeFile(keyFile, indexKey);
  const client = createClient({ indexLocation: location, models: { localFolder, offline: true } });
  const index = await client.createIndex({ indexName: "texts", indexKey, embeddingModel: "small-embedder" });
  const env = {
    PATH: process.env.PATH,
    SEALDEX_INDEX_LOCATION: "file:./data",
    SEALDEX_MODEL_FOLDER: localFolder,
    SEALDEX_MODEL_DOWNLOADS: "off",
  };
  const done = run(process.execPath, [program, "import", "--index", "texts", "--key-file", keyFile], {
    cwd: folder,
    env,
  });
  done.child.stdin?.end('{"id":"a","contents":"salmon swim upstream"}\n');
  await done;
  expect(await index.query({ queryContents: "salmon swim upstream", topK: 1 })).toMatchObject([{ id: "a" }]);
  await client.close();
  await rm(localFolder, { recursive: true });
});
