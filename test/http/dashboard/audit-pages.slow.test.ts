/** Pages of an audit log that several processes have written: of files that are longer than one read. */

import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { generateKey, openLocation } from "../../../src/core.js";
import { AuditLog } from "../../../packages/server/src/audit/audit-log.js";
import { type AuditEntry, type AuditOptions, readLogs } from "../../../packages/server/src/audit/read-log.js";
import { newFolder } from "../../folder.js";

const logs = 3;
const linesPerLog = 1500;
let folder: string;
let options: AuditOptions;

beforeEach(async () => {
  folder = await newFolder();
  const store = openLocation({ location: "memory" });
  const rootKey = generateKey();
  const opened: AuditLog[] = [];
  for (let i = 0; i < logs; i++) opened.push(await AuditLog.open({ folder, rootKey, store }));
  [{ options }] = opened;
  for (let n = 0; n < logs * linesPerLog; n++) {
    // Some have the same time as others, in the same file and in another.
    const at = new Date(1_700_000_000_000 + 10 * Math.floor(n / 2)).toISOString();
    opened[(n * n) % logs].add({ at, action: `action ${n}`, request: "x".repeat(n % 200) });
  }
  for (const log of opened) await log.close();
});

async function readAll(limit: number): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  for (;;) {
    const page = await readLogs(options, limit, all.at(-1));
    all.push(...page);
    if (page.length < limit) return all;
  }
}

test("each line is on one page, newest first, and authentic", async () => {
  const entries = await readAll(97);
  expect(entries.length).toBe(logs * linesPerLog);
  expect(new Set(entries.map(({ line, number, logId }) => line?.action ?? `${logId} ${number}`)).size).toBe(
    entries.length,
  );
  expect(entries.every(({ isAuthentic }) => isAuthentic)).toBe(true);
  const times = entries.map(({ at }) => at);
  expect(times).toEqual([...times].sort((a, b) => b - a));
});

test.each([
  ["of the distant past", '{"n":1,"at":"-200000-01-01T00:00:00.000Z","action":"forged","mac":"0"}\n'],
  ["of the distant future", '{"n":1,"at":"+275000-01-01T00:00:00.000Z","action":"forged","mac":"0"}\n'],
  ["without a time", '{"action":"forged"}\n'],
  ["that is no JSON", "forged\n"],
  ["of a megabyte", `${"x".repeat(1_000_000)}\n`],
  ["that is empty", "\n"],
])("a forged line %s hides no other, and is marked", async (_, line) => {
  const [name] = await readdir(folder);
  await appendFile(join(folder, name), line);
  const entries = await readAll(100);
  const genuine = entries.filter(({ isAuthentic }) => isAuthentic);
  expect(genuine.length).toBe(logs * linesPerLog);
  expect(entries.length - genuine.length).toBe(1);
});

test("lines that were changed in the middle hide none, whatever time they say", async () => {
  for (const name of await readdir(folder)) {
    const lines = (await readFile(join(folder, name), "utf8")).split("\n");
    const forged = lines.map((line, i) => (i % 100 === 50 ? line.replace(/"at":"2023/, '"at":"2099') : line));
    await writeFile(join(folder, name), forged.join("\n"));
  }
  const entries = await readAll(100);
  expect(new Set(entries.map(({ line, number, logId }) => line?.action ?? `${logId} ${number}`)).size).toBe(
    logs * linesPerLog,
  );
  // Those, and those that follow them.
  expect(entries.filter(({ isAuthentic }) => !isAuthentic).length).toBe((2 * logs * linesPerLog) / 100);
});

test("a line that is being written is left out", async () => {
  const [name] = await readdir(folder);
  await appendFile(join(folder, name), '{"n":1501,"at":"2026-');
  expect((await readAll(200)).length).toBe(logs * linesPerLog);
});
