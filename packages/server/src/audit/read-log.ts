/**
 * Reads audit logs: one file for `verifyLogs`, or pages of all files together, newest line first.
 */

import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { yieldIfDue } from "sealdex/wire";
import { type AuditLine, type ChainKey, digestOf } from "./chain.js";

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

export const fileName = (logId: string): string => `audit-${logId}.jsonl`;

/** Ids of the logs in a folder. */
export async function logIds(folder: string): Promise<string[]> {
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
  return files.flatMap(({ name }) => /^audit-([0-9a-f]{28})\.jsonl$/.exec(name)?.[1] ?? []);
}

/**
 * Reads at most `limit` lines of a file older than `before`, newest first, and the number of bytes
 * after the last line.
 */
export async function readFile(
  folder: string,
  logId: string,
  key: ChainKey,
  limit = Infinity,
  before?: AuditPosition,
) {
  const file = await open(join(folder, fileName(logId)), "r");
  try {
    const { size, mtimeMs } = await file.stat();
    // The service writes no longer files.
    const { buffer } = await file.read(Buffer.alloc(Math.min(size, 2 * fileBytesMax)), { position: 0 });
    const lines = [Buffer.alloc(0)];
    let start = 0;
    for (let end; (end = buffer.indexOf("\n", start)) >= 0; start = end + 1) {
      lines.push(buffer.subarray(start, end));
    }
    const entries: AuditEntry[] = [];
    const isOfFile = before?.logId === logId;
    let at = isOfFile ? before.at : Math.ceil(mtimeMs) + clockMs;
    let number = isOfFile ? Math.min(before.number, lines.length) : lines.length;
    while (--number > 0 && entries.length < limit) {
      await yieldIfDue();
      const line = key.open(logId, lines[number]);
      // Keeps the order of lines if the clock was set back.
      if (line !== undefined) at = Math.min(at, Date.parse(line.at));
      const isAuthentic = line?.previous === digestOf(lines[number - 1]);
      const entry = { logId, number, line, isAuthentic, at };
      if (before === undefined || compare(entry, before) < 0) entries.push(entry);
    }
    return { entries, rest: size - start };
  } finally {
    await file.close();
  }
}

export class AuditReader {
  readonly #folder: string;
  readonly #key: ChainKey;

  constructor(folder: string, key: ChainKey) {
    this.#folder = folder;
    this.#key = key;
  }

  /** At most `limit` entries older than `before`, newest first. */
  async read(limit: number, before?: AuditPosition): Promise<AuditEntry[]> {
    const files = (await logIds(this.#folder)).map(async (logId) => {
      const { mtimeMs } = await stat(join(this.#folder, fileName(logId)));
      return { logId, changedAt: Math.ceil(mtimeMs) + clockMs };
    });
    let page: AuditEntry[] = [];
    for (const { logId, changedAt } of (await Promise.all(files)).sort((a, b) => b.changedAt - a.changedAt)) {
      if (page.length === limit && changedAt < page[limit - 1].at) break;
      const { entries } = await readFile(this.#folder, logId, this.#key, limit, before);
      page = [...page, ...entries].sort((a, b) => compare(b, a)).slice(0, limit);
    }
    return page;
  }
}

/** Negative if `a` is older. */
function compare(a: AuditPosition, b: AuditPosition): number {
  return a.at - b.at || (a.logId === b.logId ? a.number - b.number : a.logId < b.logId ? -1 : 1);
}
