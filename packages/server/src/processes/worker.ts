/** One of several processes: see supervise.ts. */

import cluster from "node:cluster";
import type { FromWorker, ToWorker } from "./messages.js";
import type { Siblings } from "./siblings.js";

export interface Worker {
  readonly siblings: Siblings;
  /** Calls `stop` when the service should end. */
  whenStopped(stop: (signal: string) => void): void;
  /** Disconnects from the others; otherwise the process would not end. */
  leave(): void;
}

/** `count`: number of processes. Undefined without a supervisor. */
export function joinSiblings(count: number): Worker | undefined {
  const { worker } = cluster;
  if (worker === undefined) return undefined;
  const listeners = new Map<string, ((value: unknown) => void)[]>();
  const answers = new Map<string, () => unknown>();
  const asking = new Map<number, (values: unknown[]) => void>();
  let asked = 0;
  let stop: (signal: string) => void = () => process.exit();
  const send = (message: FromWorker) => {
    if (worker.isConnected()) worker.send(message);
  };
  const respond = async (id: number, topic: string) => {
    // A failure answers nothing, so that the others need not wait.
    const value = await Promise.resolve(answers.get(topic)?.()).catch(() => undefined);
    send({ kind: "answer", id, value });
  };
  worker.on("message", (message: ToWorker) => {
    switch (message.kind) {
      case "told":
        for (const listener of listeners.get(message.topic) ?? []) listener(message.value);
        break;
      case "asked":
        void respond(message.id, message.topic);
        break;
      case "answers":
        asking.get(message.id)?.([...message.values]);
        asking.delete(message.id);
        break;
      case "stop":
        stop(message.signal);
    }
  });
  // Signals reach every process of a terminal or unit; the supervisor decides when to stop.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined);
  return {
    siblings: {
      count,
      tell: (topic, value) => send({ kind: "tell", topic, value }),
      whenTold: (topic, listener) => {
        listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
      },
      ask: (topic) =>
        new Promise((resolve) => {
          asking.set(++asked, resolve);
          send({ kind: "ask", id: asked, topic });
        }),
      whenAsked: (topic, answer) => {
        answers.set(topic, answer);
      },
    },
    whenStopped: (listener) => {
      stop = listener;
    },
    leave: () => worker.disconnect(),
  };
}
