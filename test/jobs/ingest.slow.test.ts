/** Parts that processes store, some of which are killed at any time. Needs a build. */

import { watch } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { createChoice } from "../random/choice.js";
import { s3UnderTest } from "../servers/bucket.js";
import { type Ended, run, start } from "./command.js";
import { expectRows, prepare } from "./target.js";

const processes = 4;

const summary =
  /^Part \d+\/\d+ of 4 files \(\d+ bytes\): (\d+) rows read, (\d+) stored, (\d+) unchanged\.\n$/;

/** Rows read, stored and unchanged. */
function figuresOf({ code, stdout, stderr }: Ended): number[] {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(summary);
  return (summary.exec(stdout) ?? []).slice(1).map(Number);
}

test.each([
  ["index", 12],
  ["collection", 32],
] as const)(
  "parts of processes that are killed are in the %s once, when they have run again",
  async (kind, parts) => {
    const { folder, rows, client, index, env, args } = await prepare(kind, 1200);
    const { below, chance } = createChoice(1);
    // Each process is killed at the n-th change of storage after its start, whoever makes it.
    const due = new Map<() => void, number>();
    const watcher = watch(join(folder, "data"), { recursive: true }, () => {
      for (const [kill, left] of due) {
        if (left === 0) kill();
        due.set(kill, left - 1);
      }
    });
    const plan = Array.from({ length: parts }, (_, part) => ({
      part,
      kills: chance(0.6) ? 1 + below(2) : 0,
      order: below(parts),
    }));
    const queue = plan.sort((a, b) => a.order - b.order);
    let killed = 0;
    const figures: number[][] = [];
    const lane = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { part, kills, order } = next;
        const command = ["ingest", ...args, "--from", join(folder, "in"), "--part", `${part}/${parts}`];
        const running = start([...command, "--batch-size", "10"], env);
        const kill = () => void running.child.kill("SIGKILL");
        if (kills > 0) due.set(kill, below(40));
        const ended = await running.ended;
        due.delete(kill);
        if (ended.code === null) {
          killed++;
          queue.push({ part, kills: kills - 1, order });
        } else figures.push(figuresOf(ended));
      }
    };
    await Promise.all(Array.from({ length: processes }, lane));
    watcher.close();
    expect(killed).toBeGreaterThan(0);
    expect(figures.reduce((sum, [read]) => sum + read, 0)).toBe(rows.length);
    await expectRows(index, rows);
    await client.close();
  },
);

test("a part that has run stores nothing when it runs again", async () => {
  const { folder, rows, client, index, env, args } = await prepare("index", 200);
  const command = (part: string) =>
    run(["ingest", ...args, "--from", join(folder, "in"), "--part", part], env);
  const [first] = figuresOf(await command("0/2"));
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(rows.length);
  expect(figuresOf(await command("0/2"))).toEqual([first, 0, first]);
  expect(figuresOf(await command("0/1"))).toEqual([rows.length, rows.length - first, first]);
  await expectRows(index, rows);
  await client.close();
});

test("the arguments of the Kubernetes manifest are those of a part", async () => {
  const { folder, rows, client, index, env, args } = await prepare("collection", 400);
  await writeFile(join(folder, "sealdex.yaml"), `index_location: ${env.SEALDEX_INDEX_LOCATION}\n`);
  const manifest = new URL("../../packages/server/deploy/kubernetes-ingest/job.yaml", import.meta.url);
  const [, list] = /^ +args:\n((?: +(?:- |#).*\n)+)/m.exec(await readFile(manifest, "utf8")) ?? [];
  const own: Record<string, string> = {
    config: join(folder, "sealdex.yaml"),
    "key-file": args[3],
    index: "rows",
    from: join(folder, "in"),
    part: "0/1",
  };
  const replaced = Array.from(list.matchAll(/- (\S+)/g), ([, arg]) =>
    arg.replace(/^--([a-z-]+)=.*/, (_, name: string) => `--${name}=${own[name]}`),
  );
  expect(figuresOf(await run(replaced, {}))).toEqual([rows.length, rows.length, 0]);
  await expectRows(index, rows);
  await client.close();
});

test.each<[string[], RegExp]>([
  [["--part", "2/2"], /^error: --part: expected i\/n/],
  [["--batch-size", "many"], /^error: batchSize: expected/],
  [["--from", "/nowhere/at/all"], /^error: --from: it cannot be read \(ENOENT\)\n/],
  [["--index", "other"], /^error: index "other": no such index/],
])("%j is refused in one line, with exit code 1", async (more, message) => {
  const { folder, client, env, args } = await prepare("index", 40);
  const { code, stdout, stderr } = await run(["ingest", ...args, "--from", join(folder, "in"), ...more], env);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  await client.close();
});

test("files of a bucket are read as those of a folder", async ({ skip }) => {
  const server = await s3UnderTest();
  if (server === null) return skip();
  const { files, rows, client, index, env, args } = await prepare("index", 200);
  const { bucket } = await server.newBucket("input");
  for (const [name, bytes] of files) {
    const object = { Bucket: bucket, Key: `some/${name}`, Body: bytes };
    await server.client.send(new PutObjectCommand(object));
  }
  // The SDK warns of Node 20.
  const keys = {
    AWS_ACCESS_KEY_ID: server.accessKey,
    AWS_SECRET_ACCESS_KEY: server.secretKey,
    NODE_NO_WARNINGS: "1",
  };
  const from = `s3://${bucket}/some?endpoint=${encodeURIComponent(server.endpoint)}`;
  const figures = [];
  for (const part of ["0/3", "1/3", "2/3"]) {
    figures.push(
      figuresOf(await run(["ingest", ...args, "--from", from, "--part", part], { ...env, ...keys })),
    );
  }
  expect(figures.reduce((sum, [read]) => sum + read, 0)).toBe(rows.length);
  await expectRows(index, rows);
  const absent = from.replace(bucket, `${bucket}-absent`);
  const refused = await run(["ingest", ...args, "--from", absent], { ...env, ...keys });
  expect(refused).toMatchObject({ code: 1, stderr: "error: --from: it cannot be read (NoSuchBucket)\n" });
  await client.close();
  await server.stop();
});
