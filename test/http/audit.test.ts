/** The audit log: its records, that there are no others, and that changes and removals show. */

import { appendFile, type FileHandle, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { type BlobStore, generateKey, openLocation } from "../../src/core.js";
import { AuditLog } from "../../packages/server/src/audit/audit-log.js";
import { readLogs, verifyLogs } from "../../packages/server/src/audit/read-log.js";
import { type RunningService, startService } from "./service.js";
import { whole } from "../ranges.js";
import { newFolder } from "../folder.js";

const rootKey = generateKey();
let folder: string;
let store: BlobStore;
beforeEach(async () => {
  folder = await newFolder();
  store = openLocation({ location: "memory" });
});

const openLog = () => AuditLog.open({ folder, rootKey, store });
const verify = () => verifyLogs({ folder, rootKey, store });

/** The path of the only file. */
async function onlyFile(): Promise<string> {
  const [name, ...others] = await readdir(folder);
  expect(others).toEqual([]);
  return join(folder, name);
}

/** Writes a log with so many lines and returns its path. */
async function writeLog(count: number): Promise<string> {
  const log = await openLog();
  for (let i = 0; i < count; i++) log.add({ at: "2026-01-01T00:00:00.000Z", action: `action ${i}` });
  await log.close();
  return onlyFile();
}

async function withService(
  work: (service: RunningService) => Promise<void>,
): Promise<Record<string, unknown>[]> {
  const audit = await openLog();
  const service = await startService({ indexLocation: store, issuing: { rootKey, store }, audit });
  try {
    await work(service);
  } finally {
    await service.close();
    await audit.close();
  }
  const text = await readFile(await onlyFile(), "utf8");
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("a request whose connection closes before its turn is neither served nor recorded", async () => {
  const audit = await openLog();
  const log: string[] = [];
  let begun = () => {};
  const isBegun = new Promise<void>((resolve) => (begun = resolve));
  const service = await startService({
    indexLocation: store,
    audit,
    log: { write: (line) => log.push(line) },
    checkStorage: () => {
      begun();
      return new Promise(() => undefined);
    },
  });
  const { hostname, port } = new URL(service.baseUrl);
  const socket = connect(Number(port), hostname);
  const body = JSON.stringify({ index_name: "unseen", index_key: generateKey(), dimension: 2 });
  socket.write(
    "GET /v1/health/ready HTTP/1.1\r\nHost: x\r\n\r\n" +
      `POST /v1/indexes/create HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.apiKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await isBegun;
  socket.destroy();
  while (!log.some((line) => line.includes('"aborted":true'))) await new Promise(setImmediate);
  expect(await service.get("/v1/indexes/list")).toMatchObject({ body: { indexes: [] } });
  await service.close();
  await audit.close();
  expect(await readFile(await onlyFile(), "utf8")).not.toContain("POST /v1/indexes/create");
});

test("every request with an API key is recorded: caller, endpoint, index, result, but nothing of its contents", async () => {
  const canary = ["canary-id", "canary-text", "canary-value", "0.123456789"];
  const keys: string[] = [rootKey];
  const lines = await withService(async (service) => {
    const address = await service.newIndex();
    keys.push(address.index_key, service.apiKey);
    const [id, contents, value, number] = canary;
    const item = { id, contents, metadata: { value }, vector: [Number(number), 1] };
    await service.post("/v1/vectors/upsert", { ...address, items: [item] });
    await service.post("/v1/vectors/query", { ...address, query_vectors: [Number(number), 1] });
    await service.post("/v1/vectors/query", { ...address, index_key: generateKey(), query_vectors: [1, 1] });
    const { body } = await service.post(
      "/v1/keys",
      { name: "x", scopes: ["read"] },
      { "X-API-Key": rootKey },
    );
    keys.push(body.api_key as string);
    const limited = { "X-API-Key": body.api_key as string };
    await service.post("/v1/vectors/upsert", { ...address, items: [item] }, limited);
    await service.get("/v1/indexes/list", { "X-API-Key": "canary-key-that-is-wrong" });
    await service.get("/v1/health");
    const id2 = body.id as string;
    await fetch(`${service.baseUrl}/v1/keys/${id2}`, { method: "DELETE", headers: { "X-API-Key": rootKey } });
  });
  const key = expect.stringMatching(/^[0-9a-f]{16}$/);
  const index = "index 0";
  expect(lines).toMatchObject([
    {
      n: 1,
      caller: "operator-2",
      action: "POST /v1/indexes/create",
      index,
      status: 200,
      address: "127.0.0.1",
    },
    { n: 2, caller: "operator-2", action: "POST /v1/vectors/upsert", index, status: 200 },
    { n: 3, caller: "operator-2", action: "POST /v1/vectors/query", index, status: 200 },
    { action: "POST /v1/vectors/query", index, status: 403, code: "wrong_index_key" },
    { caller: "root", action: "POST /v1/keys", key, status: 200 },
    { caller: key, action: "POST /v1/vectors/upsert", status: 403, code: "forbidden" },
    { action: "GET /v1/indexes/list", status: 401, code: "unauthenticated" },
    { caller: "root", action: "DELETE /v1/keys/:id", key, status: 200 },
  ]);
  expect(lines[6]).not.toHaveProperty("caller");
  const text = JSON.stringify(lines);
  for (const secret of [...canary, ...keys, "canary-key"]) expect(text).not.toContain(secret);
  expect(await verify()).toEqual([expect.objectContaining({ lines: 8, file: expect.any(String) })]);
});

test("requests that try no key, and those beyond the limit per address, cannot fill the log", async () => {
  const lines = await withService(async (service) => {
    for (let i = 0; i < 100; i++) {
      await service.get("/v1/indexes/list", { "X-API-Key": "wrong" });
      await fetch(`${service.baseUrl}/v1/indexes/list`);
    }
  });
  expect(lines).toHaveLength(60);
});

test("a complete log is found to be complete, an empty one too", async () => {
  await writeLog(0);
  await openLog().then((log) => log.close());
  const findings = await verify();
  expect(findings).toHaveLength(2);
  for (const finding of findings) expect(finding).toEqual({ file: expect.any(String), lines: 0, faults: [] });
});

test.each<[string, (lines: string[]) => string[], readonly string[]]>([
  ["the first line is removed", ([, ...rest]) => rest, ["line 1 was written as line 2, after another line"]],
  [
    "a line in the middle is removed",
    (lines) => lines.toSpliced(4, 1),
    ["line 5 was written as line 6, after another line"],
  ],
  [
    "the last line is removed",
    (lines) => lines.slice(0, -1),
    ["lines are missing at the end; expected at least 10"],
  ],
  ["all lines are removed", () => [], ["lines are missing at the end; expected at least 10"]],
  [
    "two lines change places",
    (lines) => lines.toSpliced(2, 2, lines[3], lines[2]),
    [
      "line 3 was written as line 4, after another line",
      "line 4 was written as line 3, after another line",
      "line 5 was written as line 5, after another line",
    ],
  ],
  [
    "a line is repeated",
    (lines) => lines.toSpliced(2, 0, lines[2]),
    ["line 4 was written as line 3, after another line"],
  ],
  [
    "a line is added at the end",
    (lines) => [...lines, '{"n":11,"action":"x"}'],
    ["line 11 was changed or added"],
  ],
  [
    "a line is changed, and two that follow much later are removed",
    (lines) => lines.with(2, lines[2].replace("action 2", "action 6")).toSpliced(6, 2),
    [
      "line 3 was changed or added",
      "line 4 was written as line 4, after another line",
      "line 7 was written as line 9, after another line",
    ],
  ],
  [
    "a line is not JSON",
    (lines) => lines.with(9, "hello"),
    ["line 10 was changed or added", "lines are missing at the end; expected at least 10"],
  ],
  [
    "bytes follow the last line",
    (lines) => lines.with(9, `${lines[9]}\nhello`),
    ["line 11 was changed or added"],
  ],
])("it says where %s", async (_, edit, faults) => {
  const path = await writeLog(10);
  const lines = (await readFile(path, "utf8")).split("\n").slice(0, -1);
  await writeFile(
    path,
    edit(lines)
      .map((line) => `${line}\n`)
      .join(""),
  );
  expect(await verify()).toMatchObject([{ faults }]);
});

test("every byte of a log counts", async () => {
  const path = await writeLog(2);
  const bytes = await readFile(path);
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed[i] ^= 1;
    await writeFile(path, changed);
    const [{ faults }] = await verify();
    expect(faults, `byte ${i}`).not.toEqual([]);
  }
});

test("it shows that a file is missing, or is not of this service", async () => {
  const path = await writeLog(3);
  const text = await readFile(path, "utf8");
  await rm(path);
  expect(await verify()).toMatchObject([{ faults: ["the file is missing"] }]);
  const other = openLocation({ location: "memory" });
  await writeFile(path, text);
  const [finding] = await verifyLogs({ folder, rootKey, store: other });
  expect(finding.faults).toEqual(["the configuration location does not know this file"]);
  const [underOtherKey] = await verifyLogs({ folder, rootKey: generateKey(), store });
  expect(underOtherKey.faults).not.toEqual([]);
});

test("the lines of one log do not pass for another's", async () => {
  const path = await writeLog(3);
  const text = await readFile(path, "utf8");
  const second = await openLog();
  await second.close();
  const [name] = (await readdir(folder)).filter((file) => !path.endsWith(file));
  await appendFile(join(folder, name), text);
  const wrong = (await verify()).filter(({ faults }) => faults.length > 0);
  expect(wrong).toMatchObject([{ file: name, lines: 0 }]);
});

test("an end that the storage invents or takes from another log is noticed", async () => {
  await writeLog(3);
  const [name] = await store.list("audit/");
  const bytes = Buffer.from((await store.read(name, whole)) as Uint8Array);
  await store.delete([name]);
  await store.create(name, Buffer.from(bytes.toString().replace(/^3/, "2")));
  expect(await verify()).toMatchObject([{ faults: [expect.stringMatching(/was modified/)] }]);
});

test("a log that is still written verifies as far as it is, and its end is kept as one small blob", async () => {
  const log = await openLog();
  for (let i = 0; i < 5; i++) {
    log.add({ at: "2026-01-01T00:00:00.000Z", action: `action ${i}` });
    await log.writeEnd();
    expect(await store.list("audit/")).toHaveLength(1);
  }
  log.add({ at: "2026-01-01T00:00:00.000Z", action: "last" });
  expect(await verify()).toMatchObject([{ lines: expect.any(Number) }]);
  await log.close();
  expect(await verify()).toEqual([{ file: expect.any(String), lines: 6, faults: [] }]);
});

test("texts of clients stay within their line, and removals after them show", async () => {
  const hostile = [
    "a\u2028b",
    "a\u2029b",
    "a\u0085b",
    "a\r\nb",
    "a\u0000b",
    "\ud800",
    '"},{"n":1',
    "\u00e9\u{1f600}",
  ];
  const log = await openLog();
  for (const index of hostile) log.add({ at: "2026-01-01T00:00:00.000Z", action: "refused", index });
  log.add({ at: "2026-01-01T00:00:01.000Z", action: "DELETE /v1/keys/:id" });
  log.add({ at: "2026-01-01T00:00:02.000Z", action: "last" });
  await log.close();
  expect(await verify()).toEqual([{ file: expect.any(String), lines: hostile.length + 2, faults: [] }]);
  const entries = await readLogs(log.options, 100);
  expect(entries.flatMap(({ line }) => line?.index ?? []).reverse()).toEqual(hostile);
  expect(entries.every(({ isAuthentic }) => isAuthentic)).toBe(true);
  const path = await onlyFile();
  const text = await readFile(path, "utf8");
  expect(text).toMatch(/^[\n -~]*$/);
  await writeFile(
    path,
    text
      .split("\n")
      .filter((line) => !line.includes("DELETE"))
      .join("\n"),
  );
  const at = hostile.length + 1;
  const faults = [`line ${at} was written as line ${at + 1}, after another line`];
  expect(await verify()).toMatchObject([{ faults }]);
});

test("a full file is followed by another, and both are complete", async () => {
  const log = await openLog();
  const request = "x".repeat(100_000);
  for (let i = 0; i < 60; i++) {
    log.add({ at: new Date(1_700_000_000_000 + i).toISOString(), action: `action ${i}`, request });
    if (i % 10 === 0) await log.writeEnd();
  }
  await log.close();
  const findings = await verify();
  expect(findings.map(({ faults }) => faults)).toEqual([[], []]);
  expect(findings[0].lines + findings[1].lines).toBe(60);
  const [{ file }] = findings;
  await rm(join(folder, file));
  expect(await verify()).toMatchObject([{ file, faults: ["the file is missing"] }, { faults: [] }]);
});

test("lines that come faster than they are written fill one file after another, each as long as is read of it", async () => {
  const log = await openLog();
  const count = 20_000;
  for (let i = 0; i < count; i++) log.add({ at: "2026-01-01T00:00:00.000Z", action: "x".repeat(500) });
  await log.close();
  const found = await verify();
  expect(found.map(({ faults }) => faults)).toEqual(found.map(() => []));
  expect(found.reduce((sum, { lines }) => sum + lines, 0)).toBe(count);
});

test("a log whose last lines cannot be written is not closed as if it were whole", async () => {
  const log = await openLog();
  const handle = await open(await onlyFile());
  const full = Object.assign(new Error("full"), { code: "ENOSPC" });
  const appending = vi
    .spyOn(Object.getPrototypeOf(handle) as FileHandle, "appendFile")
    .mockRejectedValue(full);
  try {
    log.add({ at: "2026-01-01T00:00:00.000Z", action: "a" });
    await expect(log.close()).rejects.toMatchObject({ code: "storage_unavailable" });
  } finally {
    appending.mockRestore();
    await handle.close();
  }
});
