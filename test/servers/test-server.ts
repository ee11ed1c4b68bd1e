/** What a server for tests is, and how one is run: on free ports, in a temporary folder, gone when the tests are. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface TestServer {
  /** As messages call it, and under which tests find its address. */
  readonly name: string;
  /** The environment variable that names a server to use in its place. */
  readonly variable: string;
  /** Debian's packages that it needs. */
  readonly packages: readonly string[];
  /** Whether this machine has what it takes to start one. */
  isInstalled(): boolean;
  start(): Promise<RunningServer>;
}

export interface RunningServer {
  /** What is passed on to tests: a connection string, or JSON. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Its processes can be stopped, started and held up; what it stored stays. */
export interface RestartableServer extends RunningServer {
  /** Ends it in good order. */
  down(): Promise<void>;
  /** Ends it as a failing machine would. */
  kill(): Promise<void>;
  up(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** Where a program is on this machine. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const all = [...(process.env.PATH ?? "").split(delimiter), ...folders];
  return all.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
}

/** A folder of its own, deleted by whoever made it. */
export async function temporaryFolder(name: string, user?: ProcessUser): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `sealdex-${name}-`));
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

export async function deleteFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Ports of 127.0.0.1 that nobody listened on a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(listeners.map((listener) => once(listener, "listening")));
  const ports = listeners.map((listener) => (listener.address() as { port: number }).port);
  await Promise.all(listeners.map((listener) => once(listener.close(), "close")));
  return ports;
}

/**
 * A program with its output in `<folder>/<name>.log`. A shell stands beside it and ends it when this process
 * is gone, however it went.
 */
export class ServerProcess {
  readonly #log: string;
  readonly #shell: ChildProcess;
  readonly pid: Promise<number>;

  constructor(command: readonly string[], folder: string, name: string, user?: ProcessUser) {
    this.#log = join(folder, `${name}.log`);
    const script = `log=$1; shift; exec 3<&0
      "$@" >"$log" 2>&1 </dev/null 3<&- & pid=$!; echo $pid
      (read _; kill $pid) <&3 >/dev/null & watch=$!
      wait $pid; code=$?; kill $watch; exit $code`;
    this.#shell = spawn("sh", ["-c", script, "sh", this.#log, ...command], {
      cwd: folder,
      stdio: ["pipe", "pipe", "ignore"],
      detached: true, // An interrupt from the keyboard is for the tests, which end their servers themselves.
      ...user,
    });
    this.pid = once(this.#shell.stdout as NodeJS.ReadableStream, "data").then(([line]) => Number(line));
  }

  /** Resolves when `isReady` does to true; rejects with the log if that takes too long. */
  async ready(isReady: () => Promise<boolean>): Promise<this> {
    const deadline = Date.now() + 300_000;
    for (;;) {
      if (await isReady().catch(() => false)) return this;
      if (this.#shell.exitCode !== null || Date.now() > deadline) {
        throw new Error(
          `a server for tests did not start: ${(await readFile(this.#log, "utf8")).slice(-2000)}`,
        );
      }
      await sleep(20);
    }
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    process.kill(await this.pid, signal);
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.#shell.exitCode !== null) return;
    const exited = once(this.#shell, "exit");
    await this.signal(signal);
    await exited;
  }
}
