/** The commands of the service as processes. Needs a build. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../packages/server/bin/sealdex-server.js", import.meta.url));

export interface Ended {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves at the next output, and when the process ends. */
  next(): Promise<void>;
  /** Standard output so far. */
  output(): string;
}

export function start(args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env.PATH, ...env } });
  let [stdout, stderr] = ["", ""];
  const waiting: (() => void)[] = [];
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    wake();
  });
  const ended = once(child, "close").then(() => {
    wake();
    return { code: child.exitCode, stdout, stderr };
  });
  const next = () => new Promise<void>((resolve) => waiting.push(resolve));
  return { child, ended, next, output: () => stdout };
}

export function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return start(args, env).ended;
}
