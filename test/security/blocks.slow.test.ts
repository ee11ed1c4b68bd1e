/**
 * Sealed blocks in the places of others, in segments that have several of every kind: lists, pages of records, contents, ids and
 * metadata, chunks of postings, pages of the dictionary. Reads that meet such a block refuse it, and so does whoever verifies all.
 *
 * `SEALDEX_BLOCKS`: attacks, in addition to one for each pair of neighbors.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { copyIndex, createClient, SealdexError } from "../../src/core.js";
import { repeats } from "../tier.js";
import { blockAttacks, blockOf, withBlocks } from "./block-attacks.js";
import { pick, randomOf } from "./change.js";
import { type SealedBlock, sealedBlocks } from "./sealed-blocks.js";
import { answerOf, newWorld, open, type Place, storeOf, type World } from "./world.js";

const count = repeats("SEALDEX_BLOCKS", { fast: 60, all: 250 });
const firstSeed = Number(process.env.SEALDEX_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const detected = /^(corrupt|missing_object)$/;

// Keeps the threads of the kernels while clients come and go.
const keeper = createClient({ indexLocation: { location: "memory" } });
let world: World;
/** The segments that the newest manifest names, and the one of them with most blocks. */
let live: ReadonlyMap<string, readonly SealedBlock[]>;
let largest: string;

const word = (i: number, j: number) => `w${((i * 40 + j) * 7919).toString(36)}`;

beforeAll(async () => {
  const items = Array.from({ length: 400 }, (_, i) => ({
    id: `i${i}`,
    vector: Array.from({ length: 8 }, (__, j) => Math.sin(i * (j + 2))),
    contents: `text ${i} ${Array.from({ length: 60 }, (__, j) => word(i, j)).join(" ")}`,
    metadata: {
      i,
      ...Object.fromEntries(Array.from({ length: 24 }, (__, j) => [`f${j}`, `value ${i} ${j}`])),
    },
  }));
  world = await newWorld({ type: "ivfflat" }, items);
  live = await sealedBlocks(presentState(), world.indexName, world.indexKey);
  [[largest]] = [...live].sort(([, a], [, b]) => b.length - a.length);
}, 120_000);
afterAll(() => keeper.close());

/** `right`, or the code with which a new process refuses to read. Throws if it reads something else. */
async function outcome(place: Place): Promise<string> {
  const client = open(place);
  try {
    const { indexName, indexKey } = world;
    const index = await client.loadIndex({ indexName, indexKey });
    const answer = await answerOf(index);
    for (let i = 0; i < 400; i += 57) {
      const found = await index.query({ queryText: `+${word(i, i % 40)}`, topK: 5, include: [] });
      if (!found.some(({ id }) => id === `i${i}`)) throw new Error(`a word of i${i} is not found`);
    }
    if (answer !== world.answers.at(-1)) throw new Error(`a wrong answer: ${answer.slice(0, 300)}`);
    return "right";
  } catch (error) {
    if (!(error instanceof SealdexError) || !detected.test(error.code)) throw error;
    return error.code;
  } finally {
    await client.close();
  }
}

/** The code with which a copy is refused, which authenticates every byte. */
async function verified({ blobs }: Place): Promise<string> {
  const { indexName, indexKey } = world;
  const to = { indexLocation: storeOf(new Map()) };
  return copyIndex({ indexName, indexKey, from: { indexLocation: storeOf(blobs) }, to }).then(
    () => "right",
    (error: unknown) => (error as SealdexError).code,
  );
}

function presentState(): Map<string, Uint8Array> {
  return new Map(world.states.at(-1));
}

test("the segments have several blocks of every kind", () => {
  const counts: Record<string, number> = {};
  for (const { section } of live.get(largest) ?? []) counts[section] = (counts[section] ?? 0) + 1;
  for (const section of ["codes", "records", "contents", "postings", "dictionary", "columns"]) {
    expect(counts[section], section).toBeGreaterThan(1);
  }
  expect(live.size).toBeGreaterThan(1);
});

test("no two neighbors of a segment can change places, and none can stand for the other", async () => {
  const blocks = live.get(largest) ?? [];
  for (const [i, block] of blocks.slice(1).entries()) {
    const before = blocks[i];
    const bytes = presentState().get(largest) as Uint8Array;
    for (const replaced of [
      new Map([
        [before, blockOf(bytes, block)],
        [block, blockOf(bytes, before)],
      ]),
      new Map([[block, blockOf(bytes, before)]]),
    ]) {
      const blobs = presentState().set(largest, withBlocks(bytes, replaced));
      const names = `${before.section}, ${block.section}`;
      expect(await verified({ blobs }), names).toMatch(detected);
      expect(await outcome({ blobs }), names).toMatch(/right|corrupt|missing_object/);
    }
  }
}, 600_000);

test(
  "no block in the place of another gives a wrong answer",
  async () => {
    const results = { right: 0, refused: 0 };
    for (let i = 0; i < count; i++) {
      const seed = (firstSeed + i) >>> 0;
      const random = randomOf(seed);
      const name = pick(Object.keys(blockAttacks), random);
      const blobs = presentState();
      blockAttacks[name](blobs, world, random);
      // Segments that were replaced lie there as well until they are deleted.
      const isChanged = [...live.keys()].some(
        (key) => Buffer.compare(presentState().get(key) as Uint8Array, blobs.get(key) as Uint8Array) !== 0,
      );
      const expected = isChanged ? detected : /^right$/;
      expect(await verified({ blobs }), `seed ${seed}: ${name}`).toMatch(expected);
      const result = await outcome({ blobs }).catch((error: unknown) => {
        throw new Error(`seed ${seed}: ${name}`, { cause: error });
      });
      results[result === "right" ? "right" : "refused"]++;
    }
    process.stdout.write(`blocks in other places, seed ${firstSeed}: ${JSON.stringify(results)}\n`);
    // Most are read by one of the queries.
    expect(results.refused).toBeGreaterThan(0);
  },
  24 * 3_600_000,
);
