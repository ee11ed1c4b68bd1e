/**
 * Random valid and invalid calls, aborts, reopened clients: the library answers as a plain model does, throws nothing but its
 * own errors, and keeps nothing. SEALDEX_FUZZ_CALLS says how many calls, SEALDEX_FUZZ_SEED where they begin.
 */

import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { repeats } from "../tier.js";
import { createChoice } from "./choice.js";
import { heldBytes } from "./held-bytes.js";
import { LibraryHistory } from "./library-history.js";
import { OtherProcess } from "./other-process.js";

const calls = repeats("SEALDEX_FUZZ_CALLS", { fast: 200, all: 4000 });
const firstSeed = Number(process.env.SEALDEX_FUZZ_SEED ?? 1);
const stepsOfHistory = 60;
/** By which memory may differ between the middle and the end of a run, however long it is. */
const heldBytesMax = 16 * 1024 * 1024;

/** In use by a client that has nothing open but an empty index. */
async function kernelBytes(): Promise<number> {
  const client = createClient({ indexLocation: { location: "memory" } });
  const index = await client.createIndex({ indexName: "empty", indexKey: generateKey() });
  const { memory } = await index.describe();
  await client.close();
  return memory.kernelBytes;
}

test("random histories agree with a plain model", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on("unhandledRejection", note);
  const other = new OtherProcess();
  try {
    const before = await kernelBytes();
    let made = 0;
    let held = Infinity;
    for (let seed = firstSeed; made < calls; seed++) {
      const history = await LibraryHistory.create(createChoice(seed), other);
      try {
        await history.run(stepsOfHistory);
      } catch (cause) {
        throw new Error(`seed ${seed}, call ${history.calls}: ${String(cause)}`, { cause });
      }
      made += history.calls;
      // What is compiled, and pools that grow once, are there after a part of the calls.
      if (held === Infinity && made >= calls / 2) held = await heldBytes();
    }
    expect(await heldBytes()).toBeLessThan(held + heldBytesMax);
    expect(unhandled).toEqual([]);
    expect(await kernelBytes()).toBe(before);
  } finally {
    await other.kill();
    process.off("unhandledRejection", note);
  }
});
