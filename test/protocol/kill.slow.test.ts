/**
 * Writing processes are killed, again and again, at whatever they are doing, on each durable location. A small share here;
 * `npm run test:long -- kill` kills 200.
 */

import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { repeats } from "../tier.js";
import { batchesOf, monotonicMs, startChild } from "./child.js";
import { locationNames, prepareLocation } from "./locations.js";
import { type AddedBatch, expectPrefixes } from "./prefix.js";

const kills = repeats("SEALDEX_KILLS", { fast: 4, all: 4 });
const lanes = 2;
const batchItems = 3;
const lifeMsMax = 400;

test.each(locationNames)(
  "a killed process takes nothing with it that was acknowledged on %s",
  async (name) => {
    const { location, empty } = await prepareLocation(name);
    const options = { indexName: "killed", indexKey: generateKey() };
    const client = createClient({ indexLocation: location });
    const index = await client.createIndex(options);
    const written: AddedBatch[] = [];
    let killed = 0;

    async function lane(writer: string): Promise<void> {
      for (let first = 0; killed < kills;) {
        killed++;
        const common = { location, ...options, role: "writer" as const, writer, batchItems };
        const child = startChild({ ...common, first, batches: 1_000_000 });
        // The first is killed after its first acknowledgement, the others perhaps before it.
        const linesMin = killed <= lanes ? 2 : 1;
        while (child.lines.length < linesMin) await child.next();
        await new Promise((resolve) => setTimeout(resolve, Math.random() * lifeMsMax));
        child.kill();
        const lines = await child.ended;
        const batches = batchesOf(lines);
        first += batches.length;
        written.push(...batches);
        // Acknowledged writes are there at once, and begun ones whole or not at all.
        const began = monotonicMs();
        const found = new Set(
          (
            await index.get(
              batches.flatMap(({ ids }) => ids),
              { include: [] },
            )
          ).map(({ id }) => id),
        );
        for (const { ids, ended } of batches) {
          const there = ids.filter((id) => found.has(id)).length;
          if (ended < began) expect(there).toBe(ids.length);
          else expect([0, ids.length]).toContain(there);
        }
      }
    }

    await Promise.all(Array.from({ length: lanes }, (_, i) => lane(`lane${i}`)));
    await index.upsert([{ id: "after", vector: [0, 0, 0] }]);
    const began = monotonicMs();
    const ids = (await index.listIds()).filter((id) => id !== "after");
    expectPrefixes(written, [{ began, ended: monotonicMs(), ids }]);
    expect(await index.count()).toBe(ids.length + 1);
    const acknowledged = written.filter(({ ended }) => ended < Infinity).length;
    expect(acknowledged).toBeGreaterThan(0);
    process.stdout.write(
      `${name}: ${killed} processes killed, ${acknowledged} batches acknowledged, 0 of them lost; ` +
        `${ids.length / batchItems - acknowledged} more were committed unacknowledged\n`,
    );
    await client.close();
    await empty();
  },
  3_600_000,
);
