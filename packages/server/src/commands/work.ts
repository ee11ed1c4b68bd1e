/** `sealdex-server enqueue` and `sealdex-server work`: jobs of a queue. */

import { type Command, Option } from "commander";
import { SealdexError } from "sealdex/core";
import { invalid } from "sealdex/wire";
import { type Job, jobKinds, runJob, takeJob } from "../jobs/job.js";
import { type JobQueue, openQueue } from "../jobs/queue.js";
import { parsePart } from "../jobs/split-input.js";
import { queueVariable } from "../settings/load-settings.js";
import type { ReadSettings } from "../settings/settings.js";
import { type KeyArguments, openWithKey, useClient, withKeyFile } from "./open-index.js";

/** How long a worker that has no job any more waits for its queue to let it go. */
const leaveMsMax = 10_000;

interface QueueArguments {
  readonly queue?: string;
}

interface EnqueueArguments extends QueueArguments {
  readonly index: string;
  readonly from?: string;
  readonly parts: string;
}

export function addWorkCommands(program: Command, read: ReadSettings): void {
  withQueue(
    program
      .command("enqueue <job>")
      .description(`Queue jobs for workers: ${jobKinds.join(", ")}. Needs no key.`)
      .requiredOption("--index <name>", "the index or collection"),
  )
    .option("--from <location>", "what to ingest, as in ingest")
    .option("--parts <number>", "into how many jobs to split it", "1")
    .action(async (kind: string, { queue: url, index, from, parts }: EnqueueArguments) => {
      const jobs = (kind === "ingest" ? partsOf(parts) : [undefined]).map((part) =>
        takeJob({ kind, index, ...(from !== undefined && { from }), ...(part !== undefined && { part }) }),
      );
      await useQueue(url, (queue) => queue.add(jobs));
      process.stdout.write(`Queued ${jobs.length} ${jobs.length === 1 ? "job" : "jobs"}.\n`);
    });

  withQueue(
    withKeyFile(
      program
        .command("work")
        .description(
          "Run queued jobs, one at a time, until SIGTERM. Needs the locations of the service, and the key of the indexes.",
        ),
    ),
  ).action(({ queue: url, keyFile }: QueueArguments & KeyArguments) =>
    useClient(read, async (client, settings) => {
      const stopped = new Promise<void>((resolve) => {
        for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => resolve());
      });
      const run = async (job: Job) => {
        const { index } = await openWithKey(client, settings, job.index, keyFile);
        return runJob(job, index);
      };
      let running: Promise<unknown> = Promise.resolve();
      const finished = () => Promise.allSettled([running]);
      // A queue whose server is gone would keep the process alive. It runs a job again if it does not hear of its end.
      void stopped.then(finished).then(() => {
        setTimeout(() => void finished().then(() => process.exit()), leaveMsMax).unref();
      });
      const work = (data: unknown) => (running = reported(() => run(takeJob(data))));
      await useQueue(url, (queue) => queue.work(work, stopped));
    }),
  );
}

function withQueue(command: Command): Command {
  return command.addOption(
    new Option("--queue <url>", "redis://… (needs bullmq and ioredis) or postgres://… (needs pg-boss)").env(
      queueVariable,
    ),
  );
}

async function useQueue(url: string | undefined, work: (queue: JobQueue) => Promise<void>): Promise<void> {
  if (url === undefined) throw invalid("--queue: expected a URL, or SEALDEX_QUEUE, got neither");
  const queue = await openQueue(url, ({ message }) => void process.stderr.write(`queue: ${message}\n`));
  try {
    await work(queue);
  } finally {
    await queue.close();
  }
}

function partsOf(parts: string): string[] {
  return Array.from({ length: parsePart(`0/${parts}`).parts }, (_, i) => `${i}/${parts}`);
}

/** The queue stores the message of an error, so it gets nothing else of it. */
async function reported(run: () => Promise<string>): Promise<string> {
  let message: string;
  try {
    const line = await run();
    process.stdout.write(`${line}\n`);
    return line;
  } catch (error) {
    const isExpected = error instanceof SealdexError;
    message = isExpected ? error.message : "an internal error, which the worker reported";
    process.stderr.write(`error: ${isExpected ? message : (error as Error).stack}\n`);
  }
  throw new Error(message);
}
