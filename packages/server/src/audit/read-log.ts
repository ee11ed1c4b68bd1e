/** Reads the audit logs of a folder: pages of all files together, or all lines to verify them. */

import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "sealdex/core";
import { yieldIfDue } from "sealdex/wire";
import { type AuditLine, ChainKey, digestOf } from "./chain.js";

export interface AuditOptions {
  readonly folder: string;
  readonly rootKey: string;
  /** Store of the configuration location. Closed by the caller. */
  readonly store: BlobStore;
}

export interface AuditEntry {
  readonly logId: string;
  /** Line number in its file, from 1. */
  readonly number: number;
  /** Undefined unless the service wrote it. */
  readonly line: AuditLine | undefined;
  /** Whether the service wrote it directly after the previous line. */
  readonly isAuthentic: boolean;
  /** Milliseconds since 1970; for a line that is not authentic, the time of the next newer one. */
  readonly at: number;
}

export type AuditPosition = Pick<AuditEntry, "at" | "logId" | "number">;

/** A file of this size gets no more lines. */
export const fileBytesMax = 4 * 1024 * 1024;
/** A file's modification time may lag behind its last line. */
const clockMs = 10_000;
const countsPrefix = "audit/";

export const fileName = (logId: string): string => `audit-${logId}.jsonl`;

/** Counts down, so that the newest comes first in a list. */
export const countName = (logId: string, count: number): string =>
  `${countsPrefix}${logId}/${String(Number.MAX_SAFE_INTEGER - count).padStart(16, "0")}`;

/** At most `limit` entries older than `before`, newest first. */
export async function readLogs(
  { folder, rootKey }: AuditOptions,
  limit: number,
  before?: AuditPosition,
): Promise<AuditEntry[]> {
  const files = (await logIds(folder)).map(async (id) => {
    const { mtimeMs } = await stat(join(folder, fileName(id)));
    return { id, newest: Math.ceil(mtimeMs) + clockMs };
  });
  let page: AuditEntry[] = [];
  for (const { id, newest } of (await Promise.all(files)).sort((a, b) => b.newest - a.newest)) {
    if (page.length === limit && newest < page[limit - 1].at) break;
    const older: AuditEntry[] = [];
    for await (const entry of entriesOf(await readLines(folder, id), id, new ChainKey(rootKey))) {
      if (before === undefined || compare(entry, before) < 0) older.push(entry);
      if (older.length === limit) break;
    }
    page = [...page, ...older].sort((a, b) => compare(b, a)).slice(0, limit);
  }
  return page;
}

/**
 * Verifies every line of a folder, and that no file is missing or shortened: for each file, oldest
 * first, the number of authentic lines and the faults in their order.
 */
export async function verifyLogs({ folder, rootKey, store }: AuditOptions) {
  const key = new ChainKey(rootKey);
  const present = await logIds(folder);
  const names = new Map<string, string>();
  for (const name of await store.list(countsPrefix)) {
    const [, id] = /^audit\/([0-9a-f]{28})\/\d{16}$/.exec(name) ?? [];
    if (id !== undefined && !names.has(id)) names.set(id, name);
  }
  const findings: { readonly file: string; readonly lines: number; readonly faults: string[] }[] = [];
  for (const id of [...new Set([...present, ...names.keys()])].sort()) {
    const file = fileName(id);
    if (!present.includes(id)) {
      findings.push({ file, lines: 0, faults: ["the file is missing"] });
      continue;
    }
    const faults: string[] = [];
    let [lines, last] = [0, 0];
    const read = await readLines(folder, id);
    for await (const { number, line, isAuthentic } of entriesOf(read, id, key)) {
      if (line === undefined) faults.unshift(`line ${number} was changed or added`);
      else if (!isAuthentic)
        faults.unshift(`line ${number} was written as line ${line.n}, after another line`);
      last ||= line?.n ?? 0;
      if (line !== undefined) lines++;
    }
    if (read.rest > 0) {
      faults.push(`after line ${read.lines.length} there are ${read.rest} bytes of an incomplete line`);
    }
    const name = names.get(id);
    // A sealed count is shorter.
    const sealed = name && (await store.read(name, { offset: 0, length: 1024 }));
    const text = Buffer.from(sealed ?? []).toString("latin1");
    const count = Number.parseInt(text, 10);
    if (name === undefined) faults.push("the configuration location does not know this file");
    else if (text !== key.sealCount(id, count)) {
      faults.push("the count in the configuration location was modified");
    } else if (count > last) faults.push(`lines are missing at the end; expected at least ${count}`);
    findings.push({ file, lines, faults });
  }
  return findings;
}

/** Ids of the logs in a folder. */
async function logIds(folder: string): Promise<string[]> {
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
  return files.flatMap(({ name }) => /^audit-([0-9a-f]{28})\.jsonl$/.exec(name)?.[1] ?? []);
}

/** `rest`: length of an incomplete line at the end. `newest`: latest time of a line. */
async function readLines(folder: string, id: string) {
  const file = await open(join(folder, fileName(id)));
  try {
    const { size, mtimeMs } = await file.stat();
    // The service writes no longer files.
    const { buffer } = await file.read(Buffer.alloc(Math.min(size, 2 * fileBytesMax)), { position: 0 });
    const lines = buffer.toString("latin1").split("\n");
    const rest = lines.pop()?.length ?? 0;
    return { lines, rest, newest: Math.ceil(mtimeMs) + clockMs };
  } finally {
    await file.close();
  }
}

/** Newest first. */
async function* entriesOf(
  { lines, newest }: Awaited<ReturnType<typeof readLines>>,
  logId: string,
  key: ChainKey,
): AsyncGenerator<AuditEntry> {
  let at = newest;
  for (let number = lines.length; number > 0; number--) {
    await yieldIfDue();
    const line = key.open(logId, lines[number - 1]);
    // Keeps the order of lines if the clock was set back.
    if (line !== undefined) at = Math.min(at, Date.parse(line.at));
    const isAuthentic = line?.previous === digestOf(lines[number - 2] ?? "");
    yield { logId, number, line, isAuthentic, at };
  }
}

/** Negative if `a` is older. */
function compare(a: AuditPosition, b: AuditPosition): number {
  return a.at - b.at || (a.logId === b.logId ? a.number - b.number : a.logId < b.logId ? -1 : 1);
}
