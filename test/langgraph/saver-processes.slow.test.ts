/** Processes that work on a thread and are killed. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { newFolder } from "../folder.js";

const program = fileURLToPath(new URL("saver-process.mjs", import.meta.url));
const config = { configurable: { thread_id: "shared" } };

interface Step {
  readonly kind: "put" | "writes";
  readonly id: string;
}

/** Starts a process, and kills it after it has reported some steps. Resolves to the steps once it is gone. */
function killedAfter(steps: number, args: readonly string[]): Promise<Step[]> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (more: string) => (errors += more));
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    if (text.split("\n").length > steps) child.kill("SIGKILL");
  });
  return new Promise((resolve, reject) => {
    child.on("close", (_code, signal) => {
      if (signal !== "SIGKILL") reject(new Error(errors));
      const lines = text.split("\n").slice(0, -1);
      resolve(lines.map((line) => line.split(" ")).map(([kind, id]) => ({ kind, id }) as Step));
    });
  });
}

test("killed between put and putWrites, the checkpoint is there, and another process continues from it", async () => {
  const [path, indexKey] = [await newFolder(), generateKey()];
  const steps = await killedAfter(3, [indexKey, path, "shared", "a", "0"]);
  const [last] = await killedAfter(1, [indexKey, path, "shared", "b", "60000"]);
  expect(last.kind).toBe("put");
  const saver = new EncryptedSaver({
    indexName: "threads",
    indexKey,
    indexLocation: { location: "local", path },
  });
  const tuple = await saver.getTuple(config);
  expect(tuple?.checkpoint).toMatchObject({ id: last.id, channel_values: { writer: "b" } });
  expect(tuple?.pendingWrites).toEqual([]);
  const parent = tuple?.parentConfig && (await saver.getTuple(tuple.parentConfig));
  expect(parent?.checkpoint.channel_values.writer).toBe("a");
  expect(steps.length).toBeGreaterThanOrEqual(3);
  await saver.putWrites(tuple?.config ?? {}, [["channel", "resumed"]], "task");
  expect((await saver.getTuple(config))?.pendingWrites).toEqual([["task", "channel", "resumed"]]);
  await saver.stop();
});

test("three processes on one thread, killed at any moment, lose nothing that they reported", async () => {
  const [path, indexKey] = [await newFolder(), generateKey()];
  const reported: Step[] = [];
  for (let round = 0; round < 3; round++) {
    const killed = ["a", "b", "c"].map((writer, i) =>
      killedAfter(15 + 7 * i + round, [indexKey, path, "shared", `${writer}${round}`, "0"]),
    );
    for (const steps of await Promise.all(killed)) reported.push(...steps);
  }
  const saver = new EncryptedSaver({
    indexName: "threads",
    indexKey,
    indexLocation: { location: "local", path },
  });
  const stored = new Map<string, unknown[]>();
  for await (const { checkpoint, pendingWrites = [] } of saver.list(config)) {
    stored.set(checkpoint.id, pendingWrites);
    for (const [, , value] of pendingWrites) expect(value).toEqual(checkpoint.channel_values);
  }
  expect(reported.length).toBeGreaterThan(150);
  const lost = reported.filter(({ kind, id }) => (stored.get(id)?.length ?? -1) < (kind === "put" ? 0 : 1));
  expect(lost).toEqual([]);
  await saver.deleteThread("shared");
  expect(await saver.getTuple(config)).toBeUndefined();
  await saver.stop();
});
