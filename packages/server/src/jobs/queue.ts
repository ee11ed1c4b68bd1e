/** Queues of jobs: BullMQ on Redis, pg-boss on PostgreSQL. Both are optional packages. */

import type { JobsOptions } from "bullmq";
import { SealdexError } from "sealdex/core";
import { invalid, type PeerPackage } from "sealdex/wire";
import { loadPackage } from "./load-package.js";

export interface JobQueue {
  add(jobs: readonly object[]): Promise<void>;
  /** Runs one job at a time until `stopped` resolves, and finishes the one that it runs then. A job that fails, or whose worker is killed, runs again. */
  work(run: (job: unknown) => Promise<string>, stopped: Promise<unknown>): Promise<void>;
  close(): Promise<void>;
}

const queueName = "sealdex";
/** Attempts of a job, those of killed workers included, each after twice the time. */
const attempts = 10;
const daySeconds = 24 * 60 * 60;
/** How long a command that adds jobs may take. */
const commandMsMax = 10_000;

/** `redis://…`, `rediss://…` or `postgres://…`. Throws `invalid_request`, or `not_supported` without the package. */
export async function openQueue(url: string, onError: (error: Error) => void): Promise<JobQueue> {
  if (/^rediss?:\/\//.test(url)) return openBullMq(url, onError);
  if (/^postgres(?:ql)?:\/\//.test(url)) return openPgBoss(url, onError);
  throw invalid("--queue: expected redis://…, rediss://… or postgres://…");
}

function failure(outcome: string, cause: unknown): SealdexError {
  return new SealdexError("storage_unavailable", `--queue: ${outcome} (${(cause as Error).message})`, {
    cause,
  });
}

const bullMqPackage: PeerPackage = {
  name: "bullmq",
  range: "^6.0.0",
  feature: "--queue redis://…",
  exports: ["Queue", "Worker"],
};

async function openBullMq(url: string, onError: (error: Error) => void): Promise<JobQueue> {
  const { Queue, Worker } = await loadPackage(() => import("bullmq"), bullMqPackage);
  const opts: JobsOptions = {
    attempts,
    backoff: { type: "exponential", delay: 1000 },
    removeOnComplete: { age: 7 * daySeconds },
  };
  return {
    async add(jobs) {
      // The caller waits for the result, so this connection does not wait for the server as that of a worker does.
      const connection = { url, retryStrategy: () => null, commandTimeout: commandMsMax };
      const queue = new Queue(queueName, { connection });
      // `addBulk` rejects with the same error.
      queue.on("error", () => undefined);
      try {
        await queue.addBulk(jobs.map((data) => ({ name: queueName, data, opts })));
      } catch (cause) {
        throw failure("the jobs could not be queued", cause);
      } finally {
        await queue.close();
      }
    },
    async work(run, stopped) {
      const worker = new Worker(queueName, ({ data }) => run(data), {
        connection: { url, maxRetriesPerRequest: null },
        maxStalledCount: attempts - 1,
        stalledInterval: 10_000,
      });
      worker.on("error", onError);
      await stopped;
      await worker.close();
    },
    close: async () => undefined,
  };
}

const pgBossPackage: PeerPackage = {
  name: "pg-boss",
  range: "^12.0.0",
  feature: "--queue postgres://…",
  exports: ["PgBoss"],
};

/** The members in use. Written down here, since the package needs a newer Node.js than this one. */
interface PgBoss {
  on(event: "error", listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  insert(name: string, jobs: readonly { readonly data: object }[]): Promise<unknown>;
  work(name: string, run: (jobs: readonly { readonly data: unknown }[]) => Promise<string>): Promise<unknown>;
  stop(options: { readonly timeout: number }): Promise<void>;
}

interface PgBossModule {
  readonly PgBoss: new (options: object) => PgBoss;
}

async function openPgBoss(url: string, onError: (error: Error) => void): Promise<JobQueue> {
  const { PgBoss } = await loadPackage(
    () => import(pgBossPackage.name) as Promise<PgBossModule>,
    pgBossPackage,
  );
  const checks = { superviseIntervalSeconds: 10, monitorIntervalSeconds: 10 };
  const boss = new PgBoss({ connectionString: url, ...checks });
  boss.on("error", onError);
  try {
    await boss.start();
    await boss.createQueue(queueName, {
      retryLimit: attempts - 1,
      retryDelay: 1,
      retryBackoff: true,
      expireInSeconds: daySeconds,
      heartbeatSeconds: 30,
    });
  } catch (cause) {
    throw failure("it could not be opened", cause);
  }
  return {
    async add(jobs) {
      try {
        await boss.insert(
          queueName,
          jobs.map((data) => ({ data })),
        );
      } catch (cause) {
        throw failure("the jobs could not be queued", cause);
      }
    },
    async work(run, stopped) {
      await boss.work(queueName, ([{ data }]) => run(data));
      await stopped;
    },
    close: () => boss.stop({ timeout: daySeconds * 1000 }),
  };
}
