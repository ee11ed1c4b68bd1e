/**
 * Reads documents in a thread, which ends if one of them takes too much time or memory: a PDF of a few kilobytes can have a page of
 * gigabytes.
 */

import { once } from "node:events";
import { setInterval } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Answer } from "./reading-thread.js";

export interface ReadingLimits {
  readonly ms: number;
  /** By how much the memory of the process may grow meanwhile: the limits of a thread do not count its array buffers. */
  readonly bytes: number;
}

const usualLimits: ReadingLimits = { ms: 60_000, bytes: 1024 ** 3 };
const heapMiB = 512;
const watchMs = 50;

export class DocumentReader {
  private readonly limits: ReadingLimits;
  private thread: Worker | undefined;

  constructor(limits: ReadingLimits = usualLimits) {
    this.limits = limits;
  }

  /** The text of a document, see `readText`. One at a time. Rejects as soon as `stop` aborts. */
  async read(path: string, bytes: Uint8Array, stop: AbortSignal): Promise<string> {
    stop.throwIfAborted();
    const thread = (this.thread ??= startThread());
    const ended = new AbortController();
    const { signal } = ended;
    stop.addEventListener("abort", () => ended.abort(), { signal });
    const answered = once(thread, "message", { signal }) as Promise<[Answer]>;
    const watched = this.watch(signal);
    let answer: Answer | undefined;
    try {
      thread.postMessage({ path, bytes }, []);
      [answer] = await Promise.race([answered, watched]);
    } finally {
      answered.catch(() => undefined);
      watched.catch(() => undefined);
      ended.abort();
      if (answer === undefined) {
        this.thread = undefined;
        await thread.terminate();
      }
    }
    if ("fault" in answer) throw new Error(answer.fault);
    return answer.text;
  }

  private async watch(signal: AbortSignal): Promise<never> {
    const { ms, bytes } = this.limits;
    const bytesMax = process.memoryUsage.rss() + bytes;
    const timeMax = performance.now() + ms;
    for await (const _ of setInterval(watchMs, undefined, { signal })) {
      if (process.memoryUsage.rss() > bytesMax)
        throw new Error(`reading it takes more than ${Math.round(bytes / 1024 ** 2)} MiB of memory`);
      if (performance.now() > timeMax) throw new Error(`reading it takes longer than ${ms / 1000} s`);
    }
    throw new Error("unreachable");
  }
}

function startThread(): Worker {
  // The build, also for tests, which load the sources.
  const thread = new Worker(new URL("../../dist/files/reading-thread.js", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMiB },
  });
  thread.on("error", () => undefined);
  thread.unref();
  return thread;
}
