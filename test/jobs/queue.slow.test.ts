/** Workers of queues on their servers. Needs a build. */

import { watch } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Redis } from "ioredis";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { postgres, startPostgres } from "../servers/postgres.js";
import { redis, startRedis } from "../servers/redis.js";
import { canStart } from "../tier.js";
import { run, start } from "./command.js";
import { expectRows, prepare } from "./target.js";

const parts = 8;

/** All that the queue holds, as a text. */
async function heldByRedis(address: string): Promise<string> {
  const client = new Redis(address);
  const held = [];
  for (const key of await client.keys("*")) {
    held.push(key, (await client.type(key)) === "hash" ? await client.hgetall(key) : undefined);
  }
  client.disconnect();
  return JSON.stringify(held);
}

async function heldByPostgres(address: string): Promise<string> {
  const client = new Client(address);
  await client.connect();
  const { rows } = await client.query("SELECT * FROM pgboss.job");
  await client.end();
  return JSON.stringify(rows);
}

describe.each([
  { name: "BullMQ", server: redis, open: () => startRedis(), held: heldByRedis },
  { name: "pg-boss", server: postgres, open: () => startPostgres(), held: heldByPostgres },
])("$name", ({ server, open, held }) => {
  test.runIf(canStart(server))("workers do each job, also that of a worker that was killed", async () => {
    const { address, stop } = await open();
    const { folder, rows, client, index, env: own, args, indexKey } = await prepare("collection", 800);
    const env = { ...own, SEALDEX_QUEUE: address };
    const enqueue = async (...more: string[]) => {
      const { stdout, stderr } = await run(["enqueue", ...more], { SEALDEX_QUEUE: address });
      expect(stderr).toBe("");
      return stdout;
    };
    const work = () => start(["work", ...args.slice(2)], env);
    const ingest = ["ingest", "--index", "rows", "--from", join(folder, "in"), "--parts", `${parts}`];
    expect(await enqueue(...ingest)).toBe(`Queued ${parts} jobs.\n`);
    expect(await enqueue("train", "--index", "absent")).toBe("Queued 1 job.\n");

    const first = work();
    const watcher = watch(join(folder, "data"), { recursive: true }, () => {
      watcher.close();
      first.child.kill("SIGKILL");
    });
    const killed = await first.ended;
    expect(killed.code).toBe(null);

    const workers = [work(), work()];
    const outputs = () => [killed.stdout, ...workers.map((worker) => worker.output())].join("");
    const until = async (isDone: () => boolean) => {
      while (!isDone()) {
        await Promise.race(workers.map((worker) => worker.next()));
        expect(workers.map(({ child }) => child.exitCode)).toEqual([null, null]);
      }
    };
    const done = () => new Set(outputs().match(/(?<=rows: Part )\d+(?=\/8 of 4 files)/g));
    await until(() => done().size === parts);
    await expectRows(index, rows);
    await enqueue("compact", "--index", "rows");
    await until(() => outputs().includes("rows: compacted.\n"));
    await enqueue("train", "--index", "rows");
    await until(() => outputs().includes("rows: trained.\n"));
    expect(await index.describe()).toMatchObject({ trained: true });
    await expectRows(index, rows);

    for (const { child } of workers) child.kill("SIGTERM");
    const ended = await Promise.all(workers.map((worker) => worker.ended));
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    const errors = new Set([killed, ...ended].flatMap(({ stderr }) => stderr.split("\n")));
    expect([...errors].sort()).toEqual(["", 'error: index "absent": no such index']);
    // The job failed, and waits for its next attempt.
    const text = await held(address);
    expect(text).toContain("no such index");
    expect(text).not.toContain(indexKey);
    await client.close();
    await stop();
  });

  test.runIf(canStart(server))("a worker whose server hangs ends on SIGTERM", async () => {
    const { address, pause, resume, stop } = await open();
    const { client, env, args } = await prepare("index", 0);
    const worker = start(["work", ...args.slice(2)], { ...env, SEALDEX_QUEUE: address });
    await run(["enqueue", "compact", "--index", "rows"], { SEALDEX_QUEUE: address });
    while (!worker.output().includes("rows: compacted.\n")) await worker.next();
    await pause();
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);
    await resume();
    await client.close();
    await stop();
  });
});

test.runIf(canStart(redis))("a job that kills its worker is tried ten times", async () => {
  const { address, stop } = await startRedis();
  const { client, env, args } = await prepare("index", 0);
  const queue = new Redis(address);
  await run(["enqueue", "compact", "--index", "rows"], { SEALDEX_QUEUE: address });
  // As ten killed workers leave it: active, with nine of them counted.
  const id = await queue.rpoplpush("bull:sealdex:wait", "bull:sealdex:active");
  await queue.hset(`bull:sealdex:${id}`, "stc", 9);
  const worker = start(["work", ...args.slice(2)], { ...env, SEALDEX_QUEUE: address });
  while ((await queue.zcard("bull:sealdex:failed")) === 0 && !worker.output().includes("compacted")) {
    await setTimeout(200);
  }
  expect(await queue.hget(`bull:sealdex:${id}`, "failedReason")).toContain("stalled");
  expect(worker.output()).not.toContain("compacted");
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
  queue.disconnect();
  await client.close();
  await stop();
});

test.runIf(canStart(postgres))(
  "a queue on PostgreSQL that cannot be opened is told in a line without the password",
  async () => {
    const server = await startPostgres();
    const wrong = server.address.replace(/:[^:@]+@/, ":of nobody@");
    for (const [address, reason] of [
      [wrong, "password authentication failed"],
      [`${server.address}/absent`, "does not exist"],
      [wrong.replace(/:\d+/, ":port"), "Invalid URL"],
    ]) {
      const { code, stderr } = await run(["enqueue", "train", "--index", "i"], { SEALDEX_QUEUE: address });
      expect(stderr).toMatch(/^error: --queue: it could not be opened \(.*\)\n$/);
      expect(stderr).toContain(reason);
      expect(stderr).not.toContain("nobody");
      expect(code).toBe(1);
    }
    await server.stop();
  },
);

test.runIf(canStart(redis))("enqueue ends when its server refuses it, hangs or is gone", async () => {
  const server = await startRedis();
  const enqueue = (address: string) => run(["enqueue", "train", "--index", "i"], { SEALDEX_QUEUE: address });
  const refused = await enqueue(server.address.replace(/:[^:@]+@/, ":wrong@"));
  await server.pause();
  const hanging = await enqueue(server.address);
  await server.resume();
  await server.down();
  const gone = await enqueue(server.address);
  const reasons = ["WRONGPASS", "Command timed out", "connect ECONNREFUSED"];
  for (const [i, ended] of [refused, hanging, gone].entries()) {
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain(`error: --queue: the jobs could not be queued (${reasons[i]}`);
  }
  await server.stop();
});

test.each<[string[], RegExp]>([
  [["train", "--index", "i"], /^error: --queue: expected a URL, or SEALDEX_QUEUE, got neither/],
  [["train", "--index", "i", "--queue", "amqp://host"], /^error: --queue: expected redis/],
  [["ingest", "--index", "i", "--queue", "redis://host"], /^error: job: expected/],
  [["ingest", "--index", "i", "--from", "a", "--parts", "0"], /^error: --part: expected/],
  [["delete", "--index", "i"], /^error: job: expected/],
])("enqueue %j is refused", async (args, message) => {
  const { code, stdout, stderr } = await run(["enqueue", ...args], {});
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(message);
});
