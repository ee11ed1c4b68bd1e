/**
 * Threads that run kernels on the shared memory. A call is a name and numbers; allocation and all
 * decisions stay on the calling thread, and the caller decides which calls may run at once.
 *
 * Threads start at the first call and end when the last client closes; idle threads keep no process
 * alive. With one core, or without threads, calls run on this thread with turns of the event loop
 * in between. Results do not depend on the thread.
 */

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { nextTurn } from "../../async/event-loop.js";
import { performance } from "../../async/timers.js";
import { SealdexError } from "../../errors.js";
import { callKernel, type KernelCall, kernelModule } from "../kernels/kernels.js";
import { wasmMemory } from "../kernels/memory.js";

/** More threads gain nothing, as memory bandwidth limits them. */
const threadsMax = 8;
/** Messages per thread: one in work, and one queued so that the thread need not wait. */
const messagesAtOnce = 2;
/** Multiply-adds of the calls of one message: about as long as the message itself takes. */
export const messageCost = 2 ** 20;
/** How long calls may hold the event loop if there are no threads. */
const holdMsMax = 5;

/** Calls that one thread makes. */
interface Message {
  readonly calls: readonly KernelCall[];
  settle(error?: SealdexError): void;
}

interface Thread {
  readonly worker: Worker;
  /** Sent and unanswered, oldest first. */
  readonly sent: Message[];
  /** Whether the thread ever started. */
  online: boolean;
}

export class KernelThreads {
  readonly #size: number;
  readonly #threads = new Set<Thread>();
  /** Unsent messages, per call of `run`: these take turns, so that a query does not wait for a training. */
  readonly #waiting: Message[][] = [];
  #refused = false;
  #workingHere = false;
  /** Time of the last turn of the event loop while calls ran here. */
  #turnedAt = 0;

  /** `size`: number of threads; 0 runs all calls on this thread. */
  constructor(size: number) {
    this.#size = size;
  }

  /**
   * Runs the calls in any order and concurrently. Rejects with `internal` if one fails, but only
   * after all have finished: no thread then writes to memory that the caller may free.
   */
  async run(calls: readonly KernelCall[]): Promise<void> {
    const messages: Message[] = [];
    const answers = grouped(calls).map(
      (group) => new Promise<SealdexError | undefined>((settle) => messages.push({ calls: group, settle })),
    );
    if (messages.length > 0) this.#waiting.push(messages);
    this.#feed();
    for (const error of await Promise.all(answers)) if (error !== undefined) throw error;
  }

  /** Ends the threads. Unfinished calls fail; a later `run` starts new threads. */
  async close(): Promise<void> {
    for (const { settle } of this.#waiting.splice(0).flat()) settle(failed("closed"));
    await Promise.all(Array.from(this.#threads, ({ worker }) => worker.terminate()));
  }

  /** The next message to send. */
  #take(): Message | undefined {
    const messages = this.#waiting.shift();
    const next = messages?.shift();
    if (messages !== undefined && messages.length > 0) this.#waiting.push(messages);
    return next;
  }

  #feed(): void {
    for (let depth = 1; depth <= messagesAtOnce; depth++) {
      for (const thread of this.#threads) this.#fill(thread, depth);
      while (this.#waiting.length > 0 && this.#threads.size < this.#size && !this.#refused) {
        const thread = this.#start();
        if (thread !== undefined) this.#fill(thread, depth);
      }
    }
    if (this.#threads.size === 0 && !this.#workingHere) void this.#workHere();
  }

  #fill({ worker, sent }: Thread, depth: number): void {
    while (sent.length < depth) {
      const message = this.#take();
      if (message === undefined) return;
      if (sent.length === 0) worker.ref();
      sent.push(message);
      worker.postMessage(message.calls, []);
    }
  }

  /** Undefined if this process may not start threads, in which case it never tries again. */
  #start(): Thread | undefined {
    let worker: Worker;
    try {
      const workerData = { module: kernelModule(), memory: wasmMemory() };
      // Threads inherit neither the environment, which may contain secrets, nor the flags of the
      // process.
      worker = new Worker(workerSource, { eval: true, workerData, env: {}, execArgv: [], name: "sealdex" });
    } catch {
      this.#refused = true;
      return undefined;
    }
    const thread: Thread = { worker, sent: [], online: false };
    this.#threads.add(thread);
    worker.on("online", () => {
      thread.online = true;
    });
    worker.on("message", (failure: string | null) => {
      thread.sent.shift()?.settle(failure === null ? undefined : failed(`a call trapped: ${failure}`));
      this.#feed();
      if (thread.sent.length === 0) worker.unref();
    });
    let cause: unknown;
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", () => {
      this.#threads.delete(thread);
      const lost = thread.sent.splice(0);
      if (!thread.online && cause !== undefined) {
        // The system has no room for a thread. No call has started, so none is lost.
        this.#refused = true;
        if (lost.length > 0) this.#waiting.unshift(lost);
      } else for (const { settle } of lost) settle(failed("a thread ended during a call", cause));
      this.#feed();
    });
    worker.unref();
    return thread;
  }

  async #workHere(): Promise<void> {
    this.#workingHere = true;
    for (let message = this.#take(); message !== undefined; message = this.#take()) {
      // Also counts time across many short runs.
      if (performance.now() - this.#turnedAt > holdMsMax) {
        await nextTurn();
        this.#turnedAt = performance.now();
      }
      try {
        for (const call of message.calls) callKernel(call);
        message.settle();
      } catch (cause) {
        message.settle(failed("a call trapped", cause));
      }
    }
    this.#workingHere = false;
  }
}

/** Small calls, in their order, in groups that are worth a message. */
function grouped(calls: readonly KernelCall[]): KernelCall[][] {
  const groups: KernelCall[][] = [];
  let room = 0;
  for (const call of calls) {
    if (room <= 0) {
      groups.push([]);
      room = messageCost;
    }
    groups[groups.length - 1].push(call);
    room -= call.cost ?? messageCost;
  }
  return groups;
}

function failed(what: string, cause?: unknown): SealdexError {
  return new SealdexError("internal", `kernel threads: ${what}`, { cause });
}

const cores = availableParallelism();
const shared = new KernelThreads(cores > 1 ? Math.min(cores, threadsMax) : 0);
let clients = 0;

/** The threads of this process. */
export function kernelThreads(): KernelThreads {
  return shared;
}

/** Registers a client that may use the threads. Call the result once when it no longer does. */
export function useKernelThreads(): () => Promise<void> {
  clients++;
  return async () => {
    if (--clients === 0) await shared.close();
  };
}

/**
 * Source of a thread, as text, so that it needs no file of its own and works from either build and
 * within bundles. A reply is null or an error. The source declares no name of a CommonJS wrapper
 * (`exports`, `module`): Bun and Deno run it inside one.
 */
const workerSource = `
const { parentPort, workerData } = require("node:worker_threads");
const instance = new WebAssembly.Instance(workerData.module, { env: { memory: workerData.memory } });
parentPort.on("message", (calls) => {
  let failure = null;
  try {
    for (const { kernel, args } of calls) instance.exports[kernel](...args);
  } catch (error) {
    failure = String(error);
  }
  parentPort.postMessage(failure);
});
`;
