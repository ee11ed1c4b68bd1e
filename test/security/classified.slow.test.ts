/**
 * Errors distinguish a wrong key from damage: the reader knows whether to find a key or a backup.
 * `SEALDEX_CLASSIFIED`: cases. `npm run test:long -- tamper` makes 10,000.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, generateKey, SealdexError } from "../../src/core.js";
import { repeats } from "../tier.js";
import { type Random, randomOf } from "./change.js";
import { answerOf, newWorld, open, type World } from "./world.js";

const count = repeats("SEALDEX_CLASSIFIED", { fast: 150, all: 300 });
const firstSeed = Number(process.env.SEALDEX_SEED ?? Math.trunc(Math.random() * 2 ** 31));

// Keeps the threads of the kernels while clients come and go.
const keeper = createClient({ indexLocation: { location: "memory" } });
let world: World;
beforeAll(async () => {
  world = await newWorld({ type: "ivfflat" });
});
afterAll(() => keeper.close());

type Damage = (bytes: Uint8Array, random: Random) => Uint8Array;

/** Faults of storage that is not hostile. */
const damages: readonly Damage[] = [
  (bytes, random) => {
    const made = bytes.slice();
    made[random(made.length)] ^= 1 << random(8);
    return made;
  },
  (bytes, random) => bytes.subarray(0, random(bytes.length)),
  (bytes, random) => Buffer.concat([bytes, Buffer.alloc(1 + random(600))]),
  (bytes, random) => bytes.slice().fill(0, random(bytes.length)),
  (bytes, random) => {
    const made = bytes.slice();
    const at = random(made.length);
    for (let i = at; i < Math.min(made.length, at + 512); i++) made[i] = random(256);
    return made;
  },
];

/** A key that is no wrap's: another one, or the right one with a typing error. */
function wrongKey(right: string, random: Random): string {
  if (random(2) === 0) return generateKey();
  const at = random(right.length);
  const digit = ((parseInt(right[at], 16) + 1 + random(15)) % 16).toString(16);
  return right.slice(0, at) + digit + right.slice(at + 1);
}

/** The code of the error that a new process gets, or its answer. */
async function outcome(blobs: Map<string, Uint8Array>, indexKey: string): Promise<string> {
  const client = open({ blobs });
  try {
    return await answerOf(await client.loadIndex({ indexName: world.indexName, indexKey }));
  } catch (error) {
    if (error instanceof SealdexError) return error.code;
    throw error;
  } finally {
    await client.close();
  }
}

/** Every case: with the right key or another, with a record that is whole or not, or another object that is not. */
async function check(random: Random): Promise<"answered" | "corrupt" | "wrong_index_key"> {
  const blobs = new Map(world.states.at(-1));
  const isRight = random(3) > 0;
  const indexKey = isRight ? world.indexKey : wrongKey(world.indexKey, random);
  const isRecord = (key: string) => key.startsWith("names/");
  const ofRecord = random(2) === 0;
  const damaged = isRight || random(2) === 0;
  const keys = [...blobs.keys()].filter((key) => isRecord(key) === ofRecord);
  const key = keys[random(keys.length)];
  const bytes = blobs.get(key) as Uint8Array;
  const made = damaged ? damages[random(damages.length)](bytes, random) : bytes;
  const isWhole = Buffer.compare(made, bytes) === 0;
  blobs.set(key, made);
  const found = await outcome(blobs, indexKey);
  const what = `${isRight ? "right" : "wrong"} key, ${isWhole ? "nothing" : key} damaged`;
  // Not every object is needed.
  if (isRight && !(ofRecord && !isWhole) && found === world.answers.at(-1)) return "answered";
  // The record says that it is damaged, whatever key it is opened with.
  const expected = isRight || (ofRecord && !isWhole) ? "corrupt" : "wrong_index_key";
  expect(found, what).toBe(expected);
  return expected;
}

test(
  "a wrong key is never called damage, nor damage a wrong key",
  async () => {
    const results = { answered: 0, corrupt: 0, wrong_index_key: 0 };
    for (let i = 0; i < count; i++) {
      const seed = (firstSeed + i) >>> 0;
      const result = await check(randomOf(seed)).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
      results[result]++;
    }
    process.stdout.write(`${count} wrong keys and damages, seed ${firstSeed}: ${JSON.stringify(results)}\n`);
    expect(results.answered + results.corrupt + results.wrong_index_key).toBe(count);
  },
  24 * 3_600_000,
);
