/** Runs a call in a process that is killed while it makes one of its calls to storage. Needs a build. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { Client } from "../../src/core.js";

const program = fileURLToPath(new URL("paused-process.mjs", import.meta.url));

interface KilledCall {
  readonly method: keyof Client & ("createCollection" | "splitShards");
  /** Of the folder that is its storage. */
  readonly path: string;
  readonly indexName: string;
  readonly indexKey: string;
  readonly shards: number;
  /** Calls to storage before the one during which it is killed. */
  readonly calls: number;
}

/** Whether the call was done before: it makes no more calls to storage. */
export async function runKilled(call: KilledCall): Promise<boolean> {
  const child = spawn(process.execPath, [program, JSON.stringify(call)]);
  const ended = once(child, "close");
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const said = await Promise.race([once(child.stdout, "data"), ended.then(() => [""])]);
  const isDone = String(said[0]).startsWith("done");
  if (!isDone) expect(String(said[0]), errors).toContain("paused");
  child.kill("SIGKILL");
  await ended;
  return isDone;
}
