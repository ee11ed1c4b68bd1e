/**
 * The thread that models run on: one per process, so that a model is in memory once however many clients use it, and
 * the event loop turns while it computes. It starts with the first request and ends when its last user closes; idle, it
 * keeps no process alive.
 */

import { Worker } from "node:worker_threads";
import type {
  InferenceFailure,
  InferenceReply,
  InferenceRequest,
  InferenceResult,
} from "./inference-protocol.js";
import { ownPlace, workerText } from "./worker-text.js";
import { isError } from "../value-kinds.js";

interface PendingTask {
  readonly request: InferenceRequest;
  readonly onProgress: (file: string, loaded: number, total: number) => void;
  resolve(result: InferenceResult): void;
  reject(error: Error): void;
}

/** A request that the thread could not answer. */
export class InferenceError extends Error {
  readonly stage: InferenceFailure["stage"];

  constructor({ stage, message }: InferenceFailure) {
    super(message);
    this.stage = stage;
  }
}

class InferenceThread {
  #worker: Worker | undefined;
  #running: PendingTask | undefined;
  /** Tasks that a caller waits for directly run first. */
  readonly #urgent: PendingTask[] = [];
  readonly #waiting: PendingTask[] = [];

  /** Rejects with an `InferenceError`. `urgent`: goes before all that is not. */
  run(
    request: InferenceRequest,
    urgent: boolean,
    onProgress: PendingTask["onProgress"],
  ): Promise<InferenceResult> {
    return new Promise((resolve, reject) => {
      (urgent ? this.#urgent : this.#waiting).push({ request, onProgress, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#end("it was closed");
    await worker?.terminate();
  }

  #next(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#urgent.shift() ?? this.#waiting.shift();
    if (this.#running === undefined) {
      this.#worker?.unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(this.#running.request, []);
  }

  #start(): Worker {
    // Of the process's environment only what downloads need is handed on.
    const names = ["HF_TOKEN", "HF_ACCESS_TOKEN"];
    const env = Object.fromEntries(names.map((name) => [name, process.env[name]]));
    const options = { eval: true, env, execArgv: [], name: "sealdex-inference" };
    const worker = new Worker(workerText, { ...options, workerData: { places: packagePlaces() } });
    worker.on("message", (reply: InferenceReply) => this.#take(reply));
    let cause: unknown;
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", () => {
      if (this.#worker === worker) this.#end(isError(cause) ? cause.message : "it ended");
    });
    return worker;
  }

  #take(reply: InferenceReply): void {
    const job = this.#running;
    if (job === undefined) return;
    if (reply.kind === "progress") {
      job.onProgress(reply.file, reply.loaded, reply.total);
      return;
    }
    this.#running = undefined;
    if (reply.kind === "done") job.resolve(reply.result);
    else job.reject(new InferenceError(reply.failure));
    this.#next();
  }

  /** Fails everything in progress; a later request starts another worker. */
  #end(reason: string): void {
    const jobs = [
      ...(this.#running ? [this.#running] : []),
      ...this.#urgent.splice(0),
      ...this.#waiting.splice(0),
    ];
    this.#running = undefined;
    this.#worker = undefined;
    for (const job of jobs) {
      job.reject(new InferenceError({ stage: "run", message: `the thread for inference: ${reason}` }));
    }
  }
}

/** Next to what packages are looked for: this module, and the program, since a bundler may have put the build's path in place of the module's. */
function packagePlaces(): readonly string[] {
  return [ownPlace(), process.argv[1]].filter((place) => place !== undefined);
}

const shared = new InferenceThread();
let users = 0;

export function inferenceThread(): InferenceThread {
  return shared;
}

/** Says that one more user may send requests. Call the result once, when it no longer does. */
export function useInferenceThread(): () => Promise<void> {
  users++;
  return async () => {
    if (--users === 0) await shared.close();
  };
}
