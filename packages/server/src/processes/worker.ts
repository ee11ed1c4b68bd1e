/** A process of several, as it sees the others: see supervise.ts. */

import cluster from "node:cluster";
import type { FromWorker, ToWorker } from "./messages.js";
import type { Siblings } from "./siblings.js";

export interface Worker {
  readonly siblings: Siblings;
  /** Calls `stop` once the service is to end. */
  whenStopped(stop: (signal: string) => void): void;
  /** Ends the connection to the others, without which a process does not end by itself. */
  leave(): void;
}

/** `count`: of the processes. Undefined in a process that nobody supervises. */
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
    // What fails answers nothing, and the others are not kept waiting.
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
  // Signals reach every process of a terminal or a unit; the supervisor says when to stop.
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
