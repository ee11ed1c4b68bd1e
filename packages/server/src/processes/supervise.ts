/**
 * Runs several processes of one service, which share the port. A process that ends is restarted,
 * after a pause that grows while processes keep ending soon after their start.
 */

import cluster, { type Worker } from "node:cluster";
import { Relay } from "./relay.js";

const pauseMsMin = 100;
const pauseMsMax = 30_000;
/** A process that ran this long did not fail at its start. */
const longMs = 60_000;
const signals = ["SIGINT", "SIGTERM"] as const;

/** The pause after this many consecutive early failures. */
export function restartPauseMs(failures: number): number {
  return Math.min(pauseMsMin * 2 ** Math.max(0, failures - 1), pauseMsMax);
}

/**
 * Runs `count` processes with the arguments of this one, until a signal ends them all. `log` takes
 * lines of JSON. Exits with 1 if the first process ends before it listens, since its settings or
 * locations are then wrong, which it has printed.
 */
export function supervise(count: number, log: (line: string) => void): void {
  const relay = new Relay();
  const starting = new Set<Worker>();
  let hasListened = false;
  let isStopping = false;
  let failures = 0;
  const say = (level: number, msg: string) => {
    log(`${JSON.stringify({ level, time: Date.now(), pid: process.pid, msg })}\n`);
  };

  const ended = (worker: Worker, startedAt: number, how: string) => {
    if (isStopping) return;
    if (!hasListened) {
      process.exitCode = 1;
      return;
    }
    failures = performance.now() - startedAt >= longMs ? 1 : failures + 1;
    const pauseMs = restartPauseMs(failures);
    say(50, `process ${worker.process.pid} ended (${how}); another starts in ${pauseMs} ms`);
    // Referenced: without processes, the supervisor would exit.
    setTimeout(() => {
      if (!isStopping) start();
    }, pauseMs);
  };
  const start = () => {
    const worker = cluster.fork();
    const startedAt = performance.now();
    relay.add(worker);
    starting.add(worker);
    worker.once("exit", (code, signal) => {
      starting.delete(worker);
      ended(worker, startedAt, signal ?? `exit code ${code}`);
    });
    worker.once("listening", () => {
      starting.delete(worker);
      if (hasListened || isStopping) return;
      hasListened = true;
      for (let i = 1; i < count; i++) start();
    });
  };
  const stop = (signal: NodeJS.Signals) => {
    if (isStopping) {
      for (const worker of relay.workers) worker.process.kill("SIGKILL");
      process.exit(1);
    }
    isStopping = true;
    say(30, `${signal}: stopping ${relay.workers.length} processes`);
    relay.send({ kind: "stop", signal });
    // A process that is still loading its modules would miss the message, and has no request to
    // finish.
    for (const worker of starting) worker.process.kill("SIGKILL");
  };
  for (const signal of signals) process.on(signal, stop);
  start();
}
