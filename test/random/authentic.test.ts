/**
 * Damaged but authentic indexes: whoever holds a key of an index, such as its own, can store anything in it. Another process opens them next to the index of
 * another tenant. Every call ends, with an answer of this index alone or with an error of ours. SEALDEX_FUZZ_STATES says how many indexes,
 * SEALDEX_FUZZ_SEED where they begin.
 */

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { indexKinds, type StoredIndex, storedIndex } from "../format/stored-indexes.js";
import { repeats } from "../tier.js";
import { createChoice } from "./choice.js";
import { damaged } from "./damage.js";

const states = repeats("SEALDEX_FUZZ_STATES", { fast: 60, all: 200 });
const firstSeed = Number(process.env.SEALDEX_FUZZ_SEED ?? 1);
const program = fileURLToPath(new URL("authentic-process.mjs", import.meta.url));
/** Seeds after which indexes are made anew. */
const seedsOfIndexes = 2000;
/** Of one call, on the processor: a loop that ends takes milliseconds. */
const cpuMsMax = 2000;
/** After which a call that waits is taken to hang. Calls wait for nothing but the event loop. */
const hangMs = 120_000;
const heapMiB = 512;
const failuresMax = Number(process.env.SEALDEX_FUZZ_FAILURES ?? 20);

/** How calls may end. */
const permitted = new Map([
  ["none", "damages need not be seen by a call"],
  ["corrupt", "what they should end with"],
  ["missing_object", "a name can be that of nothing"],
  ["not_supported", "a model can be of a kind that only newer versions know"],
  ["forbidden", "a keyset can say that its holder may only read, or no longer"],
  ["not_found", "a manifest can say that the index was deleted"],
  ["invalid_request", "a definition says what may be asked, such as queries by words"],
  ["dimension_mismatch", "and of which dimension"],
]);

interface Outcome {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly cpuMs: number;
}

interface Reply {
  readonly number?: number;
  readonly call?: string;
  readonly outcomes?: readonly Outcome[];
  readonly unhandled?: string;
}

/** The process, started again after it ended. */
class Victim {
  #child: ChildProcess | undefined;
  /** The call that it makes. */
  #call = "";

  /** The outcomes of all calls, or what went wrong. */
  async open(
    number: number,
    stored: StoredIndex,
    blobs: Map<string, Uint8Array>,
  ): Promise<readonly Outcome[] | string> {
    const child = (this.#child ??= await this.#start());
    const { indexName, indexKey, hasWords } = stored;
    return new Promise((resolve) => {
      let watchdog: NodeJS.Timeout;
      const end = (result: readonly Outcome[] | string) => {
        clearTimeout(watchdog);
        child.off("message", onMessage).off("exit", onExit);
        resolve(result);
      };
      const expectMore = () => {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => {
          this.stop();
          end(`${this.#call} hangs`);
        }, hangMs);
      };
      const onMessage = ({ call, outcomes, unhandled }: Reply) => {
        expectMore();
        if (call !== undefined) this.#call = call;
        if (unhandled !== undefined) end(`${this.#call}: unhandled rejection: ${unhandled}`);
        if (outcomes !== undefined) end(outcomes);
      };
      const onExit = (code: number | null, signal: string | null) => {
        this.#child = undefined;
        end(`${this.#call} ended the process: ${code ?? signal}`);
      };
      child.on("message", onMessage).on("exit", onExit);
      expectMore();
      child.send({ number, blobs, indexName, indexKey, hasWords });
    });
  }

  stop(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
  }

  #start(): Promise<ChildProcess> {
    const execArgv = [`--max-old-space-size=${heapMiB}`];
    const child = fork(program, { serialization: "advanced", execArgv });
    return new Promise((resolve, reject) => {
      child.once("message", () => resolve(child));
      child.once("exit", () => reject(new Error("the process did not start")));
    });
  }
}

test("whatever is sealed under the keys of an index, calls end, and answer for this index alone", async () => {
  const victim = new Victim();
  const failures: string[] = [];
  const codes = new Map<string, number>();
  let kinds: StoredIndex[] = [];
  let slowest: Outcome | undefined;
  try {
    for (let number = 0; number < states && failures.length < failuresMax; number++) {
      const seed = firstSeed + number;
      if (number % seedsOfIndexes === 0)
        kinds = await Promise.all(indexKinds.map((kind, i) => storedIndex(kind, seed + i)));
      const choice = createChoice(seed);
      const kind = choice.below(kinds.length);
      const { what, blobs } = damaged(kinds[kind], choice);
      const place = `seed ${seed}, kind ${kind}, ${what}`;
      const outcomes = await victim.open(seed, kinds[kind], blobs);
      if (typeof outcomes === "string") {
        failures.push(`${place}: ${outcomes}`);
        continue;
      }
      for (const outcome of outcomes) {
        codes.set(outcome.code, (codes.get(outcome.code) ?? 0) + 1);
        if (slowest === undefined || outcome.cpuMs > slowest.cpuMs) slowest = outcome;
        if (outcome.cpuMs > cpuMsMax) failures.push(`${place}: ${outcome.name} took ${outcome.cpuMs} ms`);
        if (!permitted.has(outcome.code))
          failures.push(`${place}: ${outcome.name}: ${outcome.code}: ${outcome.message}`.slice(0, 1500));
      }
    }
  } finally {
    victim.stop();
  }
  const ended = Array.from(codes, ([code, count]) => `${count} ${code}`).join(", ");
  process.stdout.write(`damaged indexes: ${states}; calls: ${ended}; the longest ${slowest?.cpuMs} ms\n`);
  expect(failures).toEqual([]);
});
