/**
 * Every call to the store that an index makes in its life, gone wrong in every way: before its effect, after it, and
 * with its acknowledgement lost. `npm test` and `npm run test:all` try a share of them;
 * `npm run test:long -- crash` does all of it everywhere.
 */

import { expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { deleteOrphans } from "../../src/index/maintenance/orphans.js";
import { gc } from "../../src/index/maintenance/gc.js";
import { compactAll } from "../../src/index/maintenance/compact.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { namedObjects } from "../../src/state/commit/manifest.js";
import { numberOf, recordName } from "../../src/state/commit/object-names.js";
import { parseIndexKey } from "../../src/crypto/keys.js";
import { openRecord } from "../../src/index/open/index-record.js";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { openLocation } from "../../src/storage/location.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { Item } from "../../src/api/vector-index.js";
import { faultyStore, mishaps } from "./faulty-store.js";
import { locationNames, prepareLocation } from "./locations.js";
import { repeats } from "../tier.js";
import { indexName, keyOf, openIndex, type Opened } from "./open.js";
import { StandingClock } from "./standing-clock.js";
import { whole } from "../ranges.js";

const options = { indexName, indexKey: generateKey() };
const minute = 60_000;
const day = 24 * 60 * minute;

/** The items of an index: ids and stamps. Null: there is no index. */
type Model = Readonly<Record<string, string>> | null;

interface Step {
  readonly name: string;
  /** When it happens. */
  readonly at: number;
  readonly run: (process: Process) => Promise<unknown>;
  readonly effect: (model: Model) => Model;
  /** Like others that are tried: it only has to happen. */
  readonly untried?: boolean;
}

/** A process that has done nothing yet. */
interface Process {
  readonly client: EmbeddedClient;
  open(): Promise<Opened>;
}

const some = (ids: readonly string[], stamp: string): Item[] =>
  ids.map((id, i) => ({ id, vector: [i, stamp.length], metadata: { stamp } }));

function upsert(ids: readonly string[], stamp: string, at: number): Step {
  return {
    name: `upsert ${stamp}`,
    at,
    run: async ({ open }) => (await open()).index.upsert(some(ids, stamp)),
    effect: (model) => ({ ...model, ...Object.fromEntries(ids.map((id) => [id, stamp])) }),
  };
}

function intoNamespace(ids: readonly string[], stamp: string, at: number): Step {
  return {
    ...upsert(ids, stamp, at),
    name: `upsert ${stamp} into a namespace`,
    run: async ({ open }) => (await open()).index.upsert(some(ids, stamp), { namespace: "one" }),
  };
}

function without(ids: readonly string[]): Step["effect"] {
  return (model) => Object.fromEntries(Object.entries(model ?? {}).filter(([id]) => !ids.includes(id)));
}

function maintain(name: string, at: number, run: (opened: Opened) => Promise<unknown>): Step {
  return { name, at, run: async ({ open }) => run(await open()), effect: (model) => model };
}

const steps: readonly Step[] = [
  { name: "create", at: 0, run: ({ client }) => client.createIndex(options), effect: () => ({}) },
  upsert(["a", "b", "c"], "first", 1),
  ...Array.from({ length: 7 }, (_, i) => ({
    ...upsert(["a", `d${i}`], `small ${i}`, 2 + i),
    untried: i > 0,
  })),
  {
    name: "delete by id",
    at: 10,
    run: async ({ open }) => (await open()).index.delete({ ids: ["b", "d3", "unknown"] }),
    effect: without(["b", "d3"]),
  },
  // Before the last of these there are sixteen small segments, so it merges them first.
  ...Array.from({ length: 8 }, (_, i) => ({
    ...upsert(["a", `e${i}`], `little ${i}`, 11 + i),
    untried: i < 7,
  })),
  maintain("train", 20, ({ index }) => index.train({ nLists: 2 })),
  upsert(["a", "f", "g"], "trained", 21),
  {
    name: "delete by filter",
    at: 22,
    run: async ({ open }) => (await open()).index.delete({ filter: { stamp: "little 5" } }),
    effect: without(["e5"]),
  },
  maintain("compact", 23, ({ inner }) => compactAll(inner, undefined)),
  intoNamespace(["n1", "n2"], "own", 23),
  intoNamespace(["n2", "n3"], "more", 23),
  {
    name: "erase",
    at: 23,
    run: async ({ open }) => (await open()).index.erase("one"),
    effect: without(["n1", "n2", "n3"]),
  },
  intoNamespace(["n3", "n4"], "new", 23),
  maintain("train again", 24, ({ index }) => index.train({ nLists: 3 })),
  upsert(["h"], "raises a fence", 20 * minute),
  upsert(["h", "i"], "raises it again", 40 * minute),
  maintain("collect", 60 * minute, ({ inner }) => gc(inner)),
  maintain("collect without grace", 61 * minute, ({ inner }) => gc(inner, { graceMs: 0 })),
  maintain("collect a day later", 2 * day, ({ inner }) => gc(inner)),
  {
    name: "delete the index",
    at: 2 * day + minute,
    run: ({ client }) => client.deleteIndex(options),
    effect: () => null,
  },
];

async function startProcess(store: BlobStore, at: number): Promise<Process & { end(): Promise<void> }> {
  const clock = new StandingClock(at);
  const client = new EmbeddedClient({ indexLocation: store }, clock);
  const opened: Opened[] = [];
  return {
    client,
    async open() {
      const name = recordName(options.indexName, 1);
      const bytes = await store.read(name, whole);
      if (bytes === null) throw new SealdexError("not_found", "there is no such index");
      const record = await openRecord(parseIndexKey(options.indexKey), {
        indexName: options.indexName,
        name,
        bytes,
      });
      const one = openIndex(record, store, clock);
      opened.push(one);
      return one;
    },
    async end() {
      // Calls in the background can fail, too.
      for (const one of opened) await one.close();
      await client.close();
    },
  };
}

async function copy(from: BlobStore, to: BlobStore): Promise<void> {
  await to.delete(await to.list(""));
  for (const key of await from.list("")) await to.create(key, (await from.read(key, whole)) as Uint8Array);
}

async function readModel(store: BlobStore, at: number): Promise<Model> {
  const process = await startProcess(store, at);
  try {
    const { index } = await process.open();
    const found = await index.query({ queryVector: [0, 0], greedy: true, include: ["metadata"] });
    const ids = found.map(({ id }) => id).sort();
    expect(await index.listIds()).toEqual(ids);
    expect(await index.count()).toBe(ids.length);
    return Object.fromEntries(found.map(({ id, metadata }) => [id, String(metadata?.stamp)]));
  } catch (error) {
    if (error instanceof SealdexError && error.code === "not_found") return null;
    throw error;
  } finally {
    await process.end();
  }
}

/** The store works again: the index takes writes, and after some days nothing is left of the failure. */
async function goOn(store: BlobStore, model: Model, at: number): Promise<void> {
  const process = await startProcess(store, at);
  if (model === null) await process.client.createIndex(options);
  const { index } = await process.open();
  await index.upsert(some(["after"], "after"));
  await process.end();
  expect(await readModel(store, at)).toEqual({ ...model, after: "after" });
  for (let later = 1; later <= 3; later++) {
    const cleaner = await startProcess(store, at + later * 1.1 * day);
    await gc((await cleaner.open()).inner);
    await deleteOrphans({ indexStore: store, configStore: store }, new StandingClock(at + later * 1.1 * day));
    await cleaner.end();
  }
  const last = await startProcess(store, at + 4 * day);
  const newest = await (await last.open()).inner.log.newest();
  await last.end();
  const named = new Set(Array.from(namedObjects(newest), keyOf));
  const namespaces = new Set(newest.segments.flatMap(({ namespace }) => namespace ?? []));
  const keys = await store.list("");
  const objects = keys.filter((key) => /\/(segment|model)\//.test(key));
  expect(new Set(objects)).toEqual(named);
  const secrets = keys.filter((key) => key.includes("/namespace/"));
  // Only one that no erasure came after may be there without segments: its writer failed.
  const isDead = (key: string) => numberOf(key) < (newest.erasures ?? 0);
  expect(secrets.filter(isDead).length, "secrets").toBeLessThanOrEqual(namespaces.size);
  const others = keys.length - objects.length - secrets.length;
  expect(others, "the record, the newest manifests, the first one of a creation").toBeLessThanOrEqual(5);
  expect(await readModel(store, at + 4 * day)).toEqual({ ...model, after: "after" });
}

/**
 * Runs every step with every mishap at every call. Returns how many. With a `stride` other than 1, each step with one of
 * the mishaps, at every so many-th call.
 */
async function enumerateCrashes(store: BlobStore, stride = 1): Promise<number> {
  let survived = 0;
  let model: Model = null;
  const before = createMemoryStore();
  for (const [order, { name, at, run, effect, untried }] of steps.entries()) {
    const after = effect(model);
    const tried = stride === 1 ? mishaps : [mishaps[order % mishaps.length]];
    for (const mishap of untried ? [] : tried) {
      for (let number = order % stride; ; number += stride) {
        await copy(before, store);
        const faulty = faultyStore(store, number, mishap);
        const process = await startProcess(faulty, at);
        const failure = await run(process).then(
          () => undefined,
          (error: unknown) => error ?? new Error("rejected without a reason"),
        );
        await process.end();
        if (faulty.struck === undefined) {
          expect(failure, name).toBeUndefined();
          break;
        }
        const where = `${name}: ${mishap} at call ${number}, ${faulty.struck}`;
        try {
          const found = await readModel(store, at + 1);
          if (failure === undefined) expect(found).toEqual(after);
          else {
            expect(failure).toMatchObject({ code: "storage_unavailable" });
            expect([model, after]).toContainEqual(found);
          }
          await goOn(store, found, at + 1);
        } catch (cause) {
          throw new Error(where, { cause });
        }
        survived++;
      }
    }
    // The step as it should be, for the steps after it.
    await copy(before, store);
    const process = await startProcess(store, at);
    await run(process);
    await process.end();
    model = after;
    expect(await readModel(store, at + 1), name).toEqual(model);
    await copy(store, before);
  }
  return survived;
}

const survivedMin = (stride: number) => (stride === 1 ? 500 : 15);

/** Every so many-th call goes wrong: each of them where that is 1. */
const strideInMemory = repeats("SEALDEX_CRASH_STRIDE", { fast: 3, all: 7 });
const stride = repeats("SEALDEX_CRASH_STRIDE", { fast: 9, all: 21 });

test("acknowledged items stay and the index still works, whichever call of the store fails", async () => {
  const survived = await enumerateCrashes(createMemoryStore(), strideInMemory);
  process.stdout.write(`crashes survived: ${survived} of ${survived}\n`);
  expect(survived).toBeGreaterThan(survivedMin(strideInMemory));
}, 3_600_000);

test.each(locationNames)(
  "the same on %s",
  async (name) => {
    const { location, empty } = await prepareLocation(name);
    const store = openLocation(location);
    try {
      const survived = await enumerateCrashes(store, stride);
      process.stdout.write(`crashes survived on ${name}: ${survived} of ${survived}\n`);
      expect(survived).toBeGreaterThan(survivedMin(stride));
    } finally {
      await store.close();
      await empty();
    }
  },
  3_600_000,
);
