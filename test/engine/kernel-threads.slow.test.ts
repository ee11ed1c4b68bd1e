/** Kernels on other threads: the same numbers, and nothing left behind. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, expect, test } from "vitest";
import { kernelCalls } from "../operations/count-kernels.js";
import { callKernel, type KernelCall } from "../../src/engine/kernels/kernels.js";
import { allocate, allocatedBytes, bytesAt, floatsAt, free } from "../../src/engine/kernels/memory.js";
import { trainModel } from "../../src/engine/training/train.js";
import type { Model } from "../../src/engine/model.js";
import { KernelThreads } from "../../src/engine/threads/kernel-threads.js";
import { clustered, sampleOf } from "./data.js";
import { pass, turnsDuring } from "./turns.js";

const opened: KernelThreads[] = [];

function threadsOf(size: number): KernelThreads {
  const threads = new KernelThreads(size);
  opened.push(threads);
  return threads;
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((threads) => threads.close()));
});

async function trainOn(threads: KernelThreads, sample: Float32Array, d: number, k: number): Promise<Model> {
  const work = trainModel(sampleOf(sample, d), k, 7);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (step.value !== undefined) await threads.run(step.value);
  }
}

test.each([20, 150])("training gives the same bits on 0, 1 and 3 threads (%i lists)", async (k) => {
  const d = 33;
  const sample = clustered(6000, d, 40, 3);
  const before = allocatedBytes();
  const models = [];
  for (const size of [0, 1, 3]) models.push(await trainOn(threadsOf(size), sample, d, k));
  expect(models[1]).toEqual(models[0]);
  expect(models[2]).toEqual(models[0]);
  expect(allocatedBytes()).toBe(before);
});

test("threads see memory that grew after they started", async () => {
  const threads = threadsOf(2);
  const d = 64;
  const small = allocate(8 * d);
  floatsAt(small, 2 * d).fill(2);
  await threads.run([{ kernel: "halfSquares", args: [small, 1, d, small + 4 * d] }]);
  const large = allocate(600 * 2 ** 20);
  const rows = large + 600 * 2 ** 20 - 8 * d;
  floatsAt(rows, d).fill(3);
  const calls = Array.from({ length: 8 }, (_, i): KernelCall => ({
    kernel: "halfSquares",
    args: [rows, 1, d, rows + 4 * d + 4 * i],
  }));
  await threads.run(calls);
  expect([...floatsAt(rows + 4 * d, 8)]).toEqual(Array.from({ length: 8 }, () => (9 * d) / 2));
  free(large);
  free(small);
});

// With two threads, one of them may be suspended, and answer last whatever it was sent first.
test.each([0, 1])("few calls do not wait for the many of others, with %i threads", async (size) => {
  const threads = threadsOf(size);
  const at = allocate(64);
  floatsAt(at, 16).fill(1);
  const call: KernelCall = { kernel: "halfSquares", args: [at, 1, 8, at + 32] };
  const ended: string[] = [];
  const many = threads.run(Array.from({ length: 200 }, () => call)).then(() => ended.push("many"));
  const few = threads.run([call, call]).then(() => ended.push("few"));
  await Promise.all([many, few]);
  expect(ended).toEqual(["few", "many"]);
  free(at);
});

test.each([0, 2])("a call that traps fails alone, with %i threads", async (size) => {
  const threads = threadsOf(size);
  const at = allocate(64);
  floatsAt(at, 16).fill(1);
  const trap: KernelCall = { kernel: "halfSquares", args: [2 ** 32 - 8, 4, 16, at] };
  const fine: KernelCall = { kernel: "halfSquares", args: [at, 1, 8, at + 32] };
  await expect(threads.run([trap])).rejects.toMatchObject({ code: "internal" });
  await threads.run([fine]);
  expect(floatsAt(at + 32, 1)[0]).toBe(4);
  free(at);
});

test("threads that end while they work fail the calls they had, and are replaced", async () => {
  const threads = threadsOf(2);
  const d = 1024;
  const n = 4000;
  const at = allocate(4 * n * d + 12 * n + 4 * n);
  bytesAt(at, 4 * n * d).fill(1);
  const after = at + 4 * n * d;
  const long: KernelCall = {
    kernel: "assignNearest",
    args: [at, n, d, at, n, after, after + 4 * n, after + 8 * n],
  };
  await threads.run([{ kernel: "halfSquares", args: [at, n, d, after] }]);
  const running = threads.run([long, long, long, long]);
  const ended = expect(running).rejects.toMatchObject({
    code: "internal",
    message: "kernel threads: a thread ended during a call",
  });
  // No answer can have arrived yet: the event loop has not turned.
  await threads.close();
  await ended;
  await threads.run([{ kernel: "halfSquares", args: [at, 1, d, after] }]);
  callKernel({ kernel: "halfSquares", args: [at, 1, d, after + 4] });
  expect(floatsAt(after, 1)).toEqual(floatsAt(after + 4, 1));
  free(at);
});

test("without threads the event loop turns between calls, whenever those held it for 5 ms", async () => {
  const threads = threadsOf(0);
  const at = allocate(64);
  const calls = Array.from({ length: 20 }, (): KernelCall => ({
    kernel: "halfSquares",
    args: [at, 1, 8, at + 32],
  }));
  const turnsAt = (callMs: number) =>
    turnsDuring(async () => {
      await kernelCalls(
        () => threads.run(calls),
        () => pass(callMs),
      );
    });
  // Before the first, since the event loop may have been held until then.
  expect(await turnsAt(6)).toBe(20);
  expect(await turnsAt(2)).toBe(1 + 6);
  expect(await turnsAt(0)).toBe(0);
  free(at);
});

test("with threads no call is made on this one, and the event loop turns while they work", async () => {
  const threads = threadsOf(2);
  const d = 64;
  expect(await turnsDuring(() => trainOn(threads, clustered(8000, d, 40, 3), d, 200))).toBeGreaterThan(0);
  const trap: KernelCall = { kernel: "halfSquares", args: [2 ** 32 - 8, 4, 16, 0] };
  // An error of another thread arrives as text; one of this thread would be the cause.
  const failure = await threads.run([trap]).catch((error: unknown) => error);
  expect(failure).toMatchObject({ message: expect.stringMatching(/a call trapped: RuntimeError/) });
  expect(failure).toHaveProperty("cause", undefined);
});

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Runs a program against the build; `environment` and flags are a process's own. Returns what it printed. */
function runProgram(extension: string, source: string, flags: string[] = []): string {
  const folder = mkdtempSync(join(tmpdir(), "sealdex-threads-"));
  try {
    const file = join(folder, `program.${extension}`);
    writeFileSync(file, source);
    return execFileSync(process.execPath, [...flags, file], { encoding: "utf8", timeout: 600_000 }).trim();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const training = `
const client = createClient({ indexLocation: { location: "memory" } });
const index = await client.createIndex({ indexName: "x", indexKey: generateKey() });
const vectors = Array.from({ length: 3000 }, (_, i) => Array.from({ length: 32 }, (_, j) => Math.sin(i * 37 + j * i)));
await index.upsert(vectors.map((vector, i) => ({ id: String(i), vector })));
await index.train({ nLists: 70 });
const found = await index.query({ queryVector: vectors[7], topK: 2, nProbes: 70 });
console.log(found[0].id, (await index.describe()).nLists);
`;

test("a program that trained ends by itself, without closing its client, from either build", () => {
  const esm = pathToFileURL(join(root, "dist", "esm", "core.js")).href;
  const cjs = JSON.stringify(join(root, "dist", "cjs", "core.js"));
  const names = "{ createClient, generateKey }";
  expect(runProgram("mjs", `import ${names} from "${esm}";${training}`)).toBe("7 70");
  expect(runProgram("cjs", `const ${names} = require(${cjs});(async () => {${training}})();`)).toBe("7 70");
});

test("where threads are not allowed, everything works on the calling one", () => {
  const esm = pathToFileURL(join(root, "dist", "esm", "core.js")).href;
  const [major] = process.versions.node.split(".").map(Number);
  const permission = major < 23 ? "--experimental-permission" : "--permission";
  const flags = [permission, "--allow-fs-read=*", "--no-warnings"];
  expect(runProgram("mjs", `import { createClient, generateKey } from "${esm}";${training}`, flags)).toBe(
    "7 70",
  );
});
