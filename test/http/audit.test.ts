/** The audit log: what is recorded, that nothing else is, and that what is changed or removed shows. */

import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BlobStore, generateKey, openLocation } from "../../src/core.js";
import { AuditLog } from "../../server/src/audit/audit-log.js";
import { verifyLogs } from "../../server/src/audit/verify.js";
import { type RunningService, startService } from "./service.js";

const rootKey = generateKey();
let folder: string;
let store: BlobStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sealdex-audit-"));
  store = openLocation({ location: "memory" });
});
afterEach(() => rm(folder, { recursive: true }));

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
  for (const finding of findings) expect(finding).toEqual({ file: expect.any(String), lines: 0 });
});

const change = /^after line \d+: a line was removed, changed or added$/;
test.each<[string, (lines: string[]) => string[], RegExp]>([
  ["the first line is removed", ([, ...rest]) => rest, change],
  ["a line in the middle is removed", (lines) => lines.toSpliced(4, 1), change],
  ["the last line is removed", (lines) => lines.slice(0, -1), /^lines were removed from the end: .* 10$/],
  ["all lines are removed", () => [], /^lines were removed from the end: .* 10$/],
  ["two lines change places", (lines) => lines.toSpliced(2, 2, lines[3], lines[2]), change],
  ["a line is repeated", (lines) => lines.toSpliced(2, 0, lines[2]), change],
  ["a line is added at the end", (lines) => [...lines, '{"n":11,"action":"x"}'], change],
  ["a line is changed", (lines) => lines.with(5, lines[5].replace("action 5", "action 6")), change],
  ["a line is not JSON", (lines) => lines.with(5, "hello"), change],
])("it shows that %s", async (_, edit, fault) => {
  const path = await writeLog(10);
  const lines = (await readFile(path, "utf8")).split("\n").slice(0, -1);
  await writeFile(
    path,
    edit(lines)
      .map((line) => `${line}\n`)
      .join(""),
  );
  expect(await verify()).toMatchObject([{ fault: expect.stringMatching(fault) }]);
});

test("every byte of a log counts", async () => {
  const path = await writeLog(2);
  const bytes = await readFile(path);
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed[i] ^= 1;
    await writeFile(path, changed);
    const [{ fault }] = await verify();
    // A line feed at the very end is no part of a line.
    if (i < bytes.length - 1) expect(fault, `byte ${i}`).toBeDefined();
  }
});

test("it shows that a file is missing, or is not of this service", async () => {
  const path = await writeLog(3);
  const text = await readFile(path, "utf8");
  await rm(path);
  expect(await verify()).toMatchObject([{ fault: "the file is missing" }]);
  const other = openLocation({ location: "memory" });
  await writeFile(path, text);
  const [finding] = await verifyLogs({ folder, rootKey, store: other });
  expect(finding.fault).toBe("the configuration location does not know this file");
  const [underOtherKey] = await verifyLogs({ folder, rootKey: generateKey(), store });
  expect(underOtherKey.fault).toBeDefined();
});

test("the lines of one log do not pass for another's", async () => {
  const path = await writeLog(3);
  const text = await readFile(path, "utf8");
  const second = await openLog();
  await second.close();
  const [name] = (await readdir(folder)).filter((file) => !path.endsWith(file));
  await appendFile(join(folder, name), text);
  const faults = (await verify()).filter(({ fault }) => fault !== undefined);
  expect(faults).toMatchObject([{ file: name, lines: 0 }]);
});

test("an end that the storage invents or takes from another log is noticed", async () => {
  await writeLog(3);
  const [name] = await store.list("audit/");
  const bytes = Buffer.from((await store.read(name)) as Uint8Array);
  await store.delete([name]);
  await store.create(name, Buffer.from(bytes.toString().replace(/^3/, "2")));
  expect(await verify()).toMatchObject([{ fault: expect.stringMatching(/was modified/) }]);
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
  expect(await verify()).toEqual([{ file: expect.any(String), lines: 6 }]);
});
