/**
 * An active attacker who holds the storage: after any change, a process that opens the index gets the right answer or an error,
 * never another answer. With anchors no older state passes; without, only a state that was once the newest, as a whole.
 *
 * `SEALDEX_TAMPER`: attacks per index type and with or without anchors. `npm run test:long -- tamper` makes a million.
 */

import { afterAll, describe, expect, test } from "vitest";
import { copyIndex, createClient, SealdexError } from "../../src/core.js";
import { attackNames, attacks } from "./attacks.js";
import { type Random, randomOf } from "./change.js";
import { added, answerOf, newWorld, open, type Place, storeOf, type World } from "./world.js";

const count = Number(process.env.SEALDEX_TAMPER ?? 60);
const firstSeed = Number(process.env.SEALDEX_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const detected = /^(corrupt|missing_object|rollback_detected|not_found|wrong_index_key)$/;

const types = {
  ivfflat: { type: "ivfflat" },
  ivf: { type: "ivf" },
  "ivfpq of 4 bits": { type: "ivfpq", pqDim: 4, pqBits: 4 },
  "ivfpq of 8 bits": { type: "ivfpq", pqDim: 4, pqBits: 8 },
} as const;

// Keeps the threads of the kernels while clients come and go.
const keeper = createClient({ indexLocation: { location: "memory" } });
afterAll(() => keeper.close());

interface Outcome {
  readonly attack: string;
  readonly result: "right" | "older" | "refused";
}

/** Attacks once, reads, and now and then writes, trains, compacts or copies and reads again. Throws if an answer is wrong. */
async function attack(world: World, withAnchors: boolean, random: Random): Promise<Outcome> {
  const blobs = new Map(world.states.at(-1));
  const place: Place = { blobs, ...(withAnchors && { anchors: new Map(world.anchors) }) };
  const names: string[] = [];
  for (let changes = random(4) === 0 ? 2 : 1; changes > 0; changes--) {
    if (blobs.size === 0) break;
    const name = attackNames[random(attackNames.length)];
    names.push(name);
    attacks[name](blobs, world, random);
  }
  const named = names.join(", then ");
  const client = open(place);
  try {
    const { indexName, indexKey } = world;
    const index = await client.loadIndex({ indexName, indexKey });
    const answer = await answerOf(index);
    const version = world.answers.lastIndexOf(answer);
    if (version < 0) throw new Error(`${named}: a wrong answer: ${answer.slice(0, 300)}`);
    const isRight = answer === world.answers.at(-1);
    if (!isRight && withAnchors) throw new Error(`${named}: an older state in spite of anchors`);
    const then = random(24);
    if (then < 4) await changeAndRead(index, then, version, world, named);
    if (then === 4) await copyAndRead(place, answer, world, named);
    return { attack: named, result: isRight ? "right" : "older" };
  } catch (error) {
    if (!(error instanceof SealdexError) || !detected.test(error.code)) throw error;
    return { attack: named, result: "refused" };
  } finally {
    await client.close();
  }
}

async function changeAndRead(
  index: Awaited<ReturnType<ReturnType<typeof open>["loadIndex"]>>,
  which: number,
  version: number,
  { answers }: World,
  named: string,
): Promise<void> {
  const ids = (answer: string) => new Set((JSON.parse(answer) as [unknown, unknown, string[]])[2]);
  const expected = ids(answers[version]);
  if (which === 0) await index.upsert([added]);
  else if (which === 1) await index.compact();
  else if (which === 2) {
    // The state after the creation has nothing to train on.
    if (expected.size > 0) await index.train({ nLists: 2 });
  } else await index.delete({ ids: ["i9"] });
  if (which === 0) expected.add(added.id);
  if (which === 3) expected.delete("i9");
  const found = ids(await answerOf(index));
  if (found.size !== expected.size || ![...expected].every((id) => found.has(id))) {
    throw new Error(`${named}: after a change ${found.size} items, not ${expected.size}`);
  }
}

/** A copy of an attacked index has the same answer, or is not made. */
async function copyAndRead(
  { blobs, anchors }: Place,
  answer: string,
  { indexName, indexKey }: World,
  named: string,
): Promise<void> {
  const copied: Place = { blobs: new Map() };
  const from = { indexLocation: storeOf(blobs), ...(anchors && { anchorLocation: storeOf(anchors) }) };
  await copyIndex({ indexName, indexKey, from, to: { indexLocation: storeOf(copied.blobs) } });
  const client = open(copied);
  try {
    const found = await answerOf(await client.loadIndex({ indexName, indexKey }));
    if (found !== answer) throw new Error(`${named}: a copy with another answer: ${found.slice(0, 300)}`);
  } finally {
    await client.close();
  }
}

describe.each(Object.keys(types) as (keyof typeof types)[])("%s", (type) => {
  test.each([
    ["with anchors", true],
    ["without anchors", false],
  ])(
    "%s no attack gives a wrong answer",
    async (anchoring, withAnchors) => {
      const world = await newWorld(types[type]);
      const results = { right: 0, older: 0, refused: 0 };
      const older = new Set<string>();
      for (let i = 0; i < count; i++) {
        const seed = (firstSeed + i) >>> 0;
        const { attack: name, result } = await attack(world, withAnchors, randomOf(seed)).catch(
          (error: unknown) => {
            throw new Error(`seed ${seed}`, { cause: error });
          },
        );
        results[result]++;
        if (result === "older") older.add(name);
      }
      process.stdout.write(
        `${count} attacks on ${type} ${anchoring}, seed ${firstSeed}: ${JSON.stringify(results)}\n`,
      );
      expect(results.right + results.older + results.refused).toBe(count);
      if (withAnchors) expect(results.older).toBe(0);
      // Like one unlink, and no more: the newest manifests are gone.
      const documented = /newest manifests|older state as a whole|delete an object|all but the records/;
      for (const name of older) expect(name).toMatch(documented);
    },
    24 * 3_600_000,
  );
});
