/**
 * Reads an audit log backwards, newest line first, a page at a time. Each process has written a file of its own; their lines
 * are merged by time. A line counts as authentic if its MAC continues that of the line before it. That is all that a page can
 * say: whether lines are missing at the end is for `verifyLogs` to find out.
 */

import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AuditEvent, ChainKey } from "./chain.js";
import { fileName, logIdOf } from "./file-name.js";
import { bisectLines, type Line, linesBackwards } from "./lines-backwards.js";

/** A line of the log. */
export interface AuditEntry {
  /** Undefined if the line is not one that the service writes. */
  readonly event?: AuditEvent;
  /** Whether the service wrote it, right after the line before it. */
  readonly isAuthentic: boolean;
  /** Of the file that has it. */
  readonly logId: string;
  /** Where it begins in its file, in bytes. */
  readonly start: number;
  /** Milliseconds since 1970; of a line that is not authentic, that of the next newer one. */
  readonly at: number;
}

export type AuditPosition = Pick<AuditEntry, "at" | "logId" | "start">;

/** A file's time of change may lag behind the time of its last line. */
const clockMs = 10_000;

export class AuditReader {
  readonly #folder: string;
  readonly #key: ChainKey;

  constructor(folder: string, key: ChainKey) {
    this.#folder = folder;
    this.#key = key;
  }

  /** At most `limit` entries that are older than `before`, newest first. */
  async read(limit: number, before?: AuditPosition): Promise<AuditEntry[]> {
    const unopened = await this.#files();
    const opened: LogFile[] = [];
    const entries: AuditEntry[] = [];
    try {
      while (entries.length < limit) {
        // A file is opened once it could hold the next entry: most of them are much older.
        const [newest] = opened.sort((a, b) => compare(b.head, a.head));
        if (unopened.length > 0 && unopened[0].changedAt >= (newest?.head.at ?? -Infinity)) {
          const [{ logId, changedAt }] = unopened.splice(0, 1);
          const file = await open(join(this.#folder, fileName(logId)), "r");
          const log = await LogFile.open(file, { logId, changedAt, key: this.#key, before });
          if (log === undefined) await file.close();
          else opened.push(log);
        } else if (newest === undefined) {
          break;
        } else {
          entries.push(newest.head);
          if (!(await newest.advance())) await newest.close().finally(() => opened.shift());
        }
      }
    } finally {
      await Promise.all(opened.map((log) => log.close()));
    }
    return entries;
  }

  /** Those that were changed last first. */
  async #files(): Promise<{ readonly logId: string; readonly changedAt: number }[]> {
    const ids = (await readdir(this.#folder)).flatMap((name) => logIdOf(name) ?? []);
    const files = await Promise.all(
      ids.map(async (logId) => {
        const { mtimeMs } = await stat(join(this.#folder, fileName(logId)));
        return { logId, changedAt: Math.ceil(mtimeMs) + clockMs };
      }),
    );
    return files.sort((a, b) => b.changedAt - a.changedAt);
  }
}

interface LogOptions {
  readonly logId: string;
  readonly changedAt: number;
  readonly key: ChainKey;
  readonly before: AuditPosition | undefined;
}

/** A file and the newest entry of it that was not taken yet. */
class LogFile {
  readonly #file: FileHandle;
  readonly #options: LogOptions;
  readonly #lines: AsyncGenerator<Line, void, undefined>;
  /** The line before the head. */
  #next: Line | undefined;
  #head: AuditEntry | undefined;

  private constructor(file: FileHandle, options: LogOptions, lines: AsyncGenerator<Line, void, undefined>) {
    this.#file = file;
    this.#options = options;
    this.#lines = lines;
  }

  /** Undefined if it has no entry that is wanted. The file is then the caller's to close. */
  static async open(file: FileHandle, options: LogOptions): Promise<LogFile | undefined> {
    const { before, logId } = options;
    const { size } = await file.stat();
    const end = async () => {
      if (before === undefined) return size;
      if (before.logId === logId) return before.start;
      // Who forges a time must not hide the lines around it.
      const isPast = (previous: string, text: string) =>
        isNext(options.key, previous, text) && (timeOf(text) ?? 0) > before.at;
      return bisectLines(file, size, isPast);
    };
    const log = new LogFile(file, options, linesBackwards(file, await end()));
    await log.#step();
    while (await log.advance()) {
      if (before === undefined || compare(log.head, before) < 0) return log;
    }
    return undefined;
  }

  /** After `advance` resolved to true. */
  get head(): AuditEntry {
    if (this.#head === undefined) throw new Error("audit log: there is no further line");
    return this.#head;
  }

  /** Moves on to the next older entry. Resolves to false if there is none. */
  async advance(): Promise<boolean> {
    const line = this.#next;
    if (line === undefined) return false;
    const { key, logId, changedAt } = this.#options;
    await this.#step();
    const before = this.#next as Line | undefined;
    const isAuthentic =
      line.start === 0
        ? key.accept(key.begin(logId), line.text) !== undefined
        : isNext(key, before?.text ?? "", line.text);
    const event = parse(line.text);
    this.#head = {
      ...(event && { event }),
      isAuthentic: event !== undefined && isAuthentic,
      logId,
      start: line.start,
      at: (isAuthentic ? timeOf(line.text) : undefined) ?? this.#head?.at ?? changedAt,
    };
    return true;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #step(): Promise<void> {
    const { value } = await this.#lines.next();
    this.#next = value ?? undefined;
  }
}

/** Negative if `a` is older. */
function compare(a: AuditPosition, b: AuditPosition): number {
  return a.at - b.at || (a.logId === b.logId ? a.start - b.start : a.logId < b.logId ? -1 : 1);
}

/** Whether the service wrote a line right after another. */
function isNext(key: ChainKey, before: string, line: string): boolean {
  const mac = /"mac":"([0-9a-f]{64})"\}$/.exec(before)?.[1] ?? "";
  return key.accept({ count: 0, mac }, line) !== undefined;
}

function timeOf(line: string): number | undefined {
  const at = Date.parse(/"at":"([^"]{1,40})"/.exec(line)?.[1] ?? "");
  return Number.isNaN(at) ? undefined : at;
}

function parse(line: string): AuditEvent | undefined {
  try {
    const event = JSON.parse(line) as unknown;
    return typeof event === "object" && event !== null && "at" in event ? (event as AuditEvent) : undefined;
  } catch {
    return undefined;
  }
}
