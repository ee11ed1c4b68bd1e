/**
 * The thread that runs models: one per process, so that a model is in memory once for all clients
 * and the event loop stays free. It starts with the first request and ends when its last user
 * closes; an idle thread keeps no process alive.
 */

import { Worker } from "node:worker_threads";
import type {
  InferenceFailure,
  InferenceReply,
  InferenceRequest,
  InferenceResult,
} from "./inference-protocol.js";
import { ownPlace, workerText } from "./worker-text.js";
import { isError } from "../checks/value-kinds.js";

interface PendingTask {
  readonly request: InferenceRequest;
  readonly onProgress: (file: string, loaded: number, total: number) => void;
  resolve(result: InferenceResult): void;
  reject(error: Error): void;
}

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
  /** Tasks that a caller waits for run first. */
  readonly #urgent: PendingTask[] = [];
  readonly #waiting: PendingTask[] = [];

  /** Rejects with an `InferenceError`. `urgent` tasks run first. */
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
    // The thread inherits only the variables that downloads need.
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

  /** Fails all pending tasks; a later request starts another worker. */
  #end(reason: string): void {
    const jobs = [
      ...(this.#running ? [this.#running] : []),
      ...this.#urgent.splice(0),
      ...this.#waiting.splice(0),
    ];
    this.#running = undefined;
    this.#worker = undefined;
    for (const job of jobs) {
      job.reject(new InferenceError({ stage: "run", message: `inference thread: ${reason}` }));
    }
  }
}

/**
 * Packages are resolved next to this module and next to the program, since a bundler may have
 * replaced the module's path by that of the build.
 */
function packagePlaces(): readonly string[] {
  return [ownPlace(), process.argv[1]].filter((place) => place !== undefined);
}

const shared = new InferenceThread();
let users = 0;

export function inferenceThread(): InferenceThread {
  return shared;
}

/** Registers a user. Call the result once when the thread is no longer needed. */
export function useInferenceThread(): () => Promise<void> {
  users++;
  return async () => {
    if (--users === 0) await shared.close();
  };
}
