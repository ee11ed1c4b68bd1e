/**
 * Many processes write, read and train one index on each durable location. A small share here; `npm run test:long -- processes` is
 * 8 writers of 500 batches each.
 */

import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { openLocation } from "../../src/storage/location.js";
import { repeats } from "../tier.js";
import { batchesOf, startChild } from "./child.js";
import { locationNames, prepareLocation } from "./locations.js";
import { expectPrefixes } from "./prefix.js";
import { whole } from "../ranges.js";

const writers = 8;
const batches = repeats("SEALDEX_BATCHES", { fast: 3, all: 5 });
const batchItems = 2;

test.each(locationNames)(
  "8 processes write to %s, others read and train: nothing is lost, doubled, or seen in part",
  async (name) => {
    const { location, empty } = await prepareLocation(name);
    const options = { indexName: "written by many", indexKey: generateKey() };
    const client = createClient({ indexLocation: location });
    const index = await client.createIndex(options);

    const common = { location, ...options, batchItems };
    const others = (["reader", "reader", "trainer"] as const).map((role) => startChild({ ...common, role }));
    const writing = Array.from({ length: writers }, (_, w) =>
      startChild({ ...common, role: "writer", writer: `w${w}`, batches }),
    );
    const began = performance.now();
    const reports = await Promise.all(writing.map((child) => child.ended));
    const seconds = (performance.now() - began) / 1000;
    for (const child of others) child.finish();
    const [first, second, trained] = await Promise.all(others.map((child) => child.ended));

    const written = reports.flatMap(batchesOf);
    expect(written).toHaveLength(writers * batches);
    expect(written.filter(({ ended }) => ended === Infinity)).toEqual([]);
    const reads = [...first, ...second].map((line) => ({ ...line, ended: line.ended as number }));
    expectPrefixes(written, reads);
    const ids = await index.listIds();
    expect(ids).toEqual(written.flatMap((batch) => batch.ids).sort());
    expect(await index.count()).toBe(ids.length);

    const store = openLocation(location);
    const manifests = (await store.list("index/")).filter((key) => key.includes("/manifest/"));
    const newest = (await store.read(manifests[0], whole)) as Uint8Array;
    await store.close();
    process.stdout.write(
      `${name}: ${written.length} batches of ${writers} processes in ${seconds.toFixed(1)} s, ${reads.length} reads, ` +
        `${trained.length} trainings; ${manifests.length} manifests, the newest of ${newest.length} bytes: ` +
        "0 lost, 0 doubled\n",
    );
    await client.close();
    await empty();
  },
  3_600_000,
);
