/** Two routers and four leaves, each a process, whose leaves are killed, stopped and restarted under load. Needs a build. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { randomItems } from "../collection/twins.js";
import { redis, startRedis } from "../servers/redis.js";
import { canStart } from "../tier.js";
import { type ServiceProcess, startProcess } from "./service-process.js";

const rootKey = generateKey();
const named = { indexName: "notes", indexKey: generateKey() };
const items = randomItems(1500, 1);
const vectors = randomItems(30, 2).map(({ vector = [] }) => vector);
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(location: string, more = {}, port = 0): Promise<ServiceProcess> {
  const settings = { SEALDEX_INDEX_LOCATION: location, SEALDEX_ROOT_KEY: rootKey, SEALDEX_DASHBOARD: "off" };
  const service = await startProcess({ ...settings, ...more }, port);
  closing.push(() => service.kill());
  return service;
}

function portOf({ baseUrl }: ServiceProcess): number {
  return Number(new URL(baseUrl).port);
}

function ended({ child }: ServiceProcess, signal: NodeJS.Signals): Promise<unknown> {
  const ending = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  return ending;
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "sealdex-leaves-"));
  closing.push(() => rm(path, { recursive: true }));
  return `file:${path}`;
}

async function redisAddress(): Promise<string> {
  const server = await startRedis();
  closing.push(() => server.stop());
  return server.address;
}

describe.each([canStart(redis) ? (["Redis", redisAddress] as const) : (["local files", folder] as const)])(
  "on %s",
  (_, place) => {
    test("queries get the right answers while leaves fail, and see every change", async () => {
      const location = await place();
      const leaves = await Promise.all([1, 2, 3, 4].map(() => start(location)));
      const urls = leaves.map(({ baseUrl }) => baseUrl).join();
      const settings = { SEALDEX_LEAVES: urls, SEALDEX_LEAF_API_KEY: rootKey };
      const routers = await Promise.all([start(location, settings), start(location, settings)]);
      const clients = routers.map(({ baseUrl }) => createClient({ baseUrl, apiKey: rootKey, maxRetries: 0 }));
      const first = await clients[0].createCollection({ ...named, shards: 8 });
      await first.upsert(items);
      const notes = [first, await clients[1].loadIndex(named)];
      const ask = (index: VectorIndex, i: number) =>
        index.query({ queryVector: vectors[i % vectors.length], topK: 10, recall: "exact" });
      const expected = await Promise.all(vectors.map((__, i) => ask(first, i)));
      const nearest = ([match]: { readonly id: string }[]) => match.id;
      expect(new Set(expected.map(nearest)).size).toBeGreaterThan(20);

      let asked = 0;
      let isOver = false;
      const load = [0, 1, 2, 3].map(async () => {
        while (!isOver) {
          const i = asked++;
          expect(await ask(notes[i % 2], i)).toEqual(expected[i % vectors.length]);
        }
      });
      /** Resolves when this many more queries have been asked. */
      const more = async (count: number) => {
        const goal = asked + count;
        while (asked < goal) await new Promise((resolve) => setTimeout(resolve, 5));
      };
      const failing = Promise.all(load);
      const events = async () => {
        await more(40);
        await leaves[0].kill();
        await more(40);
        leaves[1].child.kill("SIGSTOP");
        await more(40);
        leaves[1].child.kill("SIGCONT");
        leaves[0] = await start(location, {}, portOf(leaves[0]));
        await more(40);
        for (const [i, leaf] of leaves.entries()) {
          await ended(leaf, "SIGTERM");
          leaves[i] = await start(location, {}, portOf(leaf));
          await more(20);
        }
        isOver = true;
      };
      await Promise.race([failing, Promise.all([events(), failing])]);
      await failing;

      for (let round = 0; round < 10; round++) {
        const vector = Array.from({ length: 16 }, (__, i) => (i === round ? 100 : 0));
        await notes[round % 2].upsert([{ id: `new ${round}`, vector }]);
        const [match] = await notes[(round + 1) % 2].query({ queryVector: vector, topK: 1, recall: "exact" });
        expect(match).toMatchObject({ id: `new ${round}`, distance: 0 });
      }
      for (const leaf of leaves) await leaf.kill();
      await expect(ask(first, 0)).rejects.toMatchObject({ code: "storage_unavailable" });
      expect(await first.count()).toBe(items.length + 10);
    });
  },
);
