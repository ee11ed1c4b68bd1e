/**
 * Parses long bodies in a thread, one per process. A body has a port of its own: each message has
 * bytes, or undefined at the end, and is answered by one.
 */

import { on } from "node:events";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { Fault, type Part, type Streamed, unpackNumbers } from "./json-parts.js";
import type { Answer } from "./json-thread.js";

let thread: Worker | undefined;

function startThread(): Worker {
  // The build, also for tests, which load the sources.
  const worker = new Worker(new URL("../../dist/body/json-thread.js", import.meta.url));
  worker.unref();
  worker.on("error", () => undefined);
  worker.on("exit", () => {
    if (thread === worker) thread = undefined;
  });
  return worker;
}

/** Parses one body in the thread. */
export class ThreadParser {
  readonly #port: MessagePort;
  readonly #messages: AsyncIterator<Answer[], undefined>;

  constructor(streamed: Streamed) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#messages = on(port1, "message", { close: ["close"] });
    thread ??= startThread();
    thread.postMessage({ port: port2, streamed }, [port2]);
  }

  /** Throws `Fault`. Nothing else may be under way. */
  async push(bytes: Uint8Array): Promise<Part[]> {
    const copy = new Uint8Array(bytes);
    const answer = await this.#ask(copy, [copy.buffer]);
    const parts = "parts" in answer ? answer.parts : [];
    return parts.map((part) =>
      "elements" in part ? { ...part, elements: part.elements.map(unpackNumbers) } : part,
    );
  }

  async finish(): Promise<unknown> {
    const answer = await this.#ask(undefined, []);
    return "rest" in answer ? answer.rest : undefined;
  }

  close(): void {
    this.#port.close();
  }

  async #ask(bytes: Uint8Array | undefined, transferred: ArrayBuffer[]): Promise<Answer> {
    this.#port.postMessage(bytes, transferred);
    const { done, value } = await this.#messages.next();
    if (done === true) throw new Error("the thread that parses bodies ended");
    const [answer] = value;
    if ("fault" in answer) throw new Fault(answer.fault);
    return answer;
  }
}
