/** Processes of a test: see writer-process.mjs. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { EmbeddedClientOptions } from "../../src/core.js";
import type { StorageLocation } from "../../src/storage/location.js";

const program = fileURLToPath(new URL("writer-process.mjs", import.meta.url));

export interface ChildOptions {
  readonly location: StorageLocation;
  readonly indexName: string;
  readonly indexKey: string;
  readonly role: "writer" | "reader" | "querier" | "trainer" | "compacter";
  readonly writer?: string;
  /** Number of the first batch. */
  readonly first?: number;
  readonly batches?: number;
  readonly batchItems?: number;
  /** Of its client. */
  readonly client?: Pick<EmbeddedClientOptions, "retentionMs" | "cacheBytesMax">;
}

/** A line of its report. Without `ended`, a call that was begun. */
export interface Line {
  readonly ids: readonly string[];
  readonly began: number;
  readonly ended?: number;
}

export interface Child {
  /** Lines so far. */
  readonly lines: readonly Line[];
  /** The whole report, once it ended; rejects unless it ended well, or was killed. */
  readonly ended: Promise<readonly Line[]>;
  /** Has a reader or trainer end. */
  finish(): void;
  /** Resolves when a line comes, or the process is gone. */
  next(): Promise<void>;
  kill(): void;
}

export function startChild(options: ChildOptions): Child {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const lines: Line[] = [];
  let rest = "";
  let errors = "";
  let waiting: (() => void)[] = [];
  const wake = () => {
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts.map((part) => JSON.parse(part) as Line));
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(child, "close").then(([code, signal]) => {
    wake();
    if (code !== 0 && signal !== "SIGKILL") throw new Error(`a process of the test failed: ${errors}`);
    return lines;
  });
  // Whoever waits for it sees it fail; until then it is not unhandled.
  ended.catch(() => undefined);
  return {
    lines,
    ended,
    finish: () => void child.stdin.end(),
    next: () =>
      child.exitCode === null ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(),
    kill: () => void child.kill("SIGKILL"),
  };
}

/** The machine's monotonic clock, in milliseconds, as the processes report it. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** Batches of a report: those begun, and when they were acknowledged. */
export function batchesOf(
  lines: readonly Line[],
): { ids: readonly string[]; began: number; ended: number }[] {
  const ended = new Map(lines.map((line) => [line.began, line.ended ?? Infinity]));
  return lines
    .filter((line) => line.ended === undefined)
    .map(({ ids, began }) => ({ ids, began, ended: ended.get(began) ?? Infinity }));
}
