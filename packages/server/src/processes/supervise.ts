/**
 * Runs the processes of one service, which share the port. One that ends is restarted, after a pause
 * that grows while they end within a minute.
 */

import cluster, { type Worker } from "node:cluster";
import { setTimeout as pause } from "node:timers/promises";

/** The pause after this many consecutive early failures. */
export function restartPauseMs(failures: number): number {
  return Math.min(100 * 2 ** Math.max(0, failures - 1), 30_000);
}

/**
 * Runs `count` processes until a signal ends them all. `log` takes lines of JSON. Exits with 1 if
 * the first process ends before it listens: it has printed the fault of the settings.
 */
export function supervise(count: number, log: (line: string) => void): void {
  const workers = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  const stopping = new AbortController();
  const isStopping = () => stopping.signal.aborted;
  let [hasListened, failures] = [false, 0];
  const say = (level: number, msg: string) => {
    log(`${JSON.stringify({ level, time: Date.now(), pid: process.pid, msg })}\n`);
  };
  const start = () => {
    const startedAt = performance.now();
    const worker = cluster.fork();
    endUnaccepted(worker);
    worker.once("exit", (code, signal: string | null) => {
      if (!hasListened) process.exitCode = 1;
      if (!hasListened || isStopping()) return;
      failures = performance.now() - startedAt >= 60_000 ? 1 : failures + 1;
      const pauseMs = restartPauseMs(failures);
      say(50, `process ${worker.process.pid} ended (${signal ?? code}); another starts in ${pauseMs} ms`);
      pause(pauseMs, undefined, { signal: stopping.signal }).then(start, () => undefined);
    });
  };
  cluster.on("message", (sender, message: object) => {
    const others = workers().filter((worker) => worker !== sender && worker.isConnected());
    for (const worker of others) worker.send(message, () => undefined);
  });
  cluster.once("listening", () => {
    hasListened = true;
    for (let i = 1; i < count; i++) start();
  });
  const stop = (signal: NodeJS.Signals) => {
    for (const worker of workers()) worker.process.kill(isStopping() ? "SIGKILL" : signal);
    if (isStopping()) process.exit(1);
    stopping.abort();
    say(30, `${signal}: stopping ${workers().length} processes`);
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  start();
}

/**
 * Closes the connection that a process was sent and had not accepted when it ended: Node forgets it, and its client would wait
 * without end. `newconn` and `ack` are internal to Node. If they change, no connection is closed.
 */
function endUnaccepted({ process: child }: Worker): void {
  const send = child.send.bind(child) as (message: object, ...more: unknown[]) => boolean;
  /** Node sends one at a time. */
  let unaccepted: { close(): void } | undefined;
  const sendNoted = (message: object, ...more: unknown[]) => {
    // Other messages carry the listening socket, which stays open.
    if ("act" in message && message.act === "newconn") unaccepted = more[0] as typeof unaccepted;
    return send(message, ...more);
  };
  Object.assign(child, { send: sendNoted });
  // The first listener: that of Node sends the next connection.
  child.prependListener("internalMessage", (message: object) => {
    if ("ack" in message) unaccepted = undefined;
  });
  child.once("exit", () => unaccepted?.close());
}
