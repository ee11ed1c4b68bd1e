/**
 * One simulated history of one index: writers, readers, a trainer, a compactor and a collector, each a process of its own,
 * over a store in which calls take their time, fail, fail although they had their effect, have it late, or stall for longer
 * than any grace period. Throws where the index does anything that it must not.
 */

import { createHash } from "node:crypto";
import { gc } from "../../src/index/maintenance/gc.js";
import { compactAll } from "../../src/index/maintenance/compact.js";
import { listFolder } from "../../src/state/commit/index-folder.js";
import { commitRewrite, rewrite } from "../../src/index/maintenance/rewrite.js";
import { type Manifest, namedObjects } from "../../src/state/commit/manifest.js";
import { numberOf } from "../../src/state/commit/object-names.js";
import { SealdexError } from "../../src/errors.js";
import { withAbsenceCheckOf } from "../../src/storage/absence.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { StoredItem, VectorIndex } from "../../src/api/vector-index.js";
import { type Call, expectLinearizable } from "./linearizability.js";
import { fixedRecord, indexName, keyOf, type Opened, openIndex } from "./open.js";
import { type Faults, noFaults, simulatedStore, World } from "./world.js";

const ids = ["a", "b", "c", "d", "e"];
const hour = 3_600_000;

export interface Report {
  readonly calls: number;
  readonly failed: number;
  /** Equal for equal seeds. */
  readonly digest: string;
}

export async function simulate(seed: number): Promise<Report> {
  const world = new World(seed);
  const blobs = createMemoryStore();
  const calls: Call[] = [];
  const record = fixedRecord();
  await openIndex(record, blobs, world.clock(0)).inner.log.createFirst();

  const level = world.pick([0, 0.01, 0.04]);
  let faults: Faults = { before: level, after: level, late: level / 2, stall: world.pick([0, 0.01, 0.05]) };
  // How long a process thinks between two calls decides which of the protocol's clocks are at work.
  const thinkMs = world.pick([20, 1000, 4 * 60_000, hour]);
  const opened: Opened[] = [];
  function open(who: string): Opened & { readonly store: BlobStore } {
    const simulated = simulatedStore(world, blobs, who, () => faults);
    // As on a local disk, which is asked for the next manifest without waiting.
    const store = world.chance(0.5) ? withAbsenceCheckOf(simulated, blobs) : simulated;
    const one = openIndex(record, store, world.clock(world.integer(-240_000, 240_000)));
    opened.push(one);
    return { ...one, store };
  }

  const writers = Array.from({ length: world.integer(2, 5) }, (_, i) => write(`writer ${i}`));
  const readers = Array.from({ length: world.integer(1, 2) }, (_, i) => read(`reader ${i}`));
  await world.run(
    Promise.all([...writers, ...readers, watch(), visit(), train(), compact(), merge(), clean()]),
  );
  await world.run(Promise.all(opened.map((one) => one.close())));
  faults = noFaults;
  await world.run(finish());
  expectLinearizable(calls);
  const digest = createHash("sha256").update(world.trace.join("\n")).digest("hex");
  return { calls: calls.length, failed: calls.filter(({ ended }) => ended === Infinity).length, digest };

  async function write(who: string): Promise<void> {
    const { index } = open(who);
    for (let n = 0, last = world.integer(1, 4); n < last; n++) {
      await world.wait(world.random() * 2 * thinkMs);
      const together = Array.from({ length: world.chance(0.2) ? 3 : 1 }, (_, i) =>
        world.chance(0.15) ? deleteOf(index, who) : change(index, who, `${who}.${n}.${i}`),
      );
      await Promise.all(together);
    }
  }

  async function change(index: VectorIndex, who: string, stamp: string): Promise<void> {
    const some = ids.filter(() => world.chance(0.5));
    const deletes = world.chance(0.25);
    const writes = Object.fromEntries(some.map((id) => [id, deletes ? null : stamp]));
    const items = some.map((id, i) => ({
      id,
      vector: [i, world.integer(0, 9)],
      metadata: { stamp, by: who },
    }));
    await recordCall(`${who} ${deletes ? "deletes" : "upserts"}`, { writes }, async () => {
      await (deletes ? index.delete({ ids: some }) : index.upsert(items));
      return {};
    });
  }

  /** Deletes by filter the last items of one of the writers. */
  async function deleteOf(index: VectorIndex, who: string): Promise<void> {
    const by = `writer ${world.integer(0, 1)}`;
    await recordCall(`${who} deletes by filter`, { deletesStamps: `${by}.` }, async () => {
      await index.delete({ filter: { by } });
      return {};
    });
  }

  async function read(who: string): Promise<void> {
    const { index } = open(who);
    for (let n = 0, last = world.integer(2, 5); n < last; n++) {
      await world.wait(world.random() * 2 * thinkMs);
      await readAll(index, who);
    }
  }

  /** Repeats one request: unchanged data are answered from memory, if possible without waiting. */
  async function watch(): Promise<void> {
    const { index } = open("watcher");
    const asked = {
      queryVector: [0, 0],
      filter: { stamp: { $exists: true } },
      include: ["metadata"],
    } as const;
    for (let n = world.integer(0, 8); n > 0; n--) {
      await world.wait(world.random() * thinkMs);
      await recordReading("watcher", () => index.query(asked));
    }
  }

  /** Reads as a request to a service does that opens the index. */
  async function visit(): Promise<void> {
    for (let n = world.integer(0, 4); n > 0; n--) {
      await world.wait(world.random() * 2 * thinkMs);
      const { index, inner, store } = open("visitor");
      await readAll(index, "visitor", async () => {
        await inner.log.newestListed(await listFolder(store, indexName, inner.clock));
      });
    }
  }

  function readAll(index: VectorIndex, who: string, prepare = async () => {}): Promise<void> {
    return recordReading(who, async () => {
      await prepare();
      return world.chance(0.5)
        ? index.query({ queryVector: [0, 0], greedy: true, include: ["metadata"] })
        : index.get(ids, { include: ["metadata"] });
    });
  }

  function recordReading(who: string, reading: () => Promise<readonly StoredItem[]>): Promise<void> {
    return recordCall(`${who} reads`, {}, async () => {
      const found = await reading();
      if (new Set(found.map(({ id }) => id)).size < found.length) throw new Error(`${who} saw an item twice`);
      return { seen: Object.fromEntries(found.map(({ id, metadata }) => [id, String(metadata?.stamp)])) };
    });
  }

  async function train(): Promise<void> {
    const { index } = open("trainer");
    for (let n = world.integer(0, 2); n > 0; n--) {
      await world.wait(world.random() * 4 * thinkMs);
      await tolerate(index.train({ nLists: world.integer(1, 2) }), "invalid_request");
    }
  }

  async function compact(): Promise<void> {
    const { inner } = open("compactor");
    for (let n = world.integer(0, 3); n > 0; n--) {
      await world.wait(world.random() * 2 * thinkMs);
      await tolerate(compactAll(inner, undefined));
    }
  }

  /** Merges any neighboring runs, whether or not they are due: while others train, compact and write. */
  async function merge(): Promise<void> {
    const { inner } = open("merger");
    for (let n = world.integer(0, 6); n > 0; n--) {
      await world.wait(world.random() * 2 * thinkMs);
      await tolerate(
        inner.snapshots.readNewest(async (snapshot) => {
          const { manifest, model } = snapshot;
          const sequences = [...new Set(manifest.segments.map(({ sequence }) => sequence))];
          const first = world.integer(0, sequences.length);
          const merged = sequences.slice(first, first + world.integer(1, 4));
          const segments = snapshot.segments.filter(({ ref }) => merged.includes(ref.sequence));
          if (segments.length === 0) return;
          const name = manifest.model?.name;
          const plan = { snapshot, segments, order: "by segment", segmentBytes: 2 ** 20 } as const;
          const replacement = await rewrite(inner, { ...plan, target: { model, name } });
          await commitRewrite(inner, replacement, [], (latest, replaced) =>
            latest.model?.name === name ? replaced : null,
          );
        }),
      );
    }
  }

  async function clean(): Promise<void> {
    const { inner } = open("collector");
    for (let n = world.integer(0, 4); n > 0; n--) {
      await world.wait(world.random() * 2 * thinkMs);
      const graceMs = world.pick([undefined, undefined, 0, 60_000]);
      await tolerate(gc(inner, graceMs === undefined ? {} : { graceMs }));
    }
  }

  /** The request and result of a call, and its times. A failed read says nothing; a failed write may have had its effect. */
  async function recordCall(
    name: string,
    call: Pick<Call, "writes" | "deletesStamps">,
    work: () => Promise<Pick<Call, "seen">>,
  ): Promise<void> {
    const began = world.now;
    try {
      const result = await work();
      calls.push({ name, began, ended: world.now, ...call, ...result });
    } catch (error) {
      if (!isFault(error)) throw error;
      const isRead = call.writes === undefined && call.deletesStamps === undefined;
      if (!isRead) calls.push({ name, began, ended: Infinity, ...call });
    }
  }

  /** Without other processes, the index takes writes, shows acknowledged items, and leaves no unused objects. */
  async function finish(): Promise<void> {
    // Requests of the last calls may still be under way.
    await world.wait(hour);
    const { index, inner, close } = open("last");
    for (const key of await blobs.list("index/")) {
      if (key.includes("/manifest/")) checkSegments(await inner.log.manifestAt(numberOf(key)));
    }
    await change(index, "last", "last");
    await readAll(index, "last");
    for (let day = 0; day < 3; day++) {
      await gc(inner);
      await world.wait(25 * hour);
    }
    await gc(inner);
    const named = new Set(Array.from(namedObjects(await inner.log.newest()), keyOf));
    const stored = (await blobs.list("index/")).filter((name) => !name.includes("/manifest/"));
    const lost = [...named].filter((name) => !stored.includes(name));
    const left = stored.filter((name) => !named.has(name));
    if (lost.length > 0) throw new Error(`${lost.length} objects of the newest manifest are gone`);
    if (left.length > 0) throw new Error(`${left.length} objects are left that no manifest names`);
    const manifests = (await blobs.list("index/")).length - stored.length;
    if (manifests > 3) throw new Error(`${manifests} manifests are left`);
    await change(index, "last", "very last");
    await readAll(index, "last");
    await close();
  }
}

/** A batch counts once, and the order of segments is that of their sequences. */
function checkSegments(manifest: Manifest | null): void {
  const segments = manifest?.segments ?? [];
  if (new Set(segments.map(({ name }) => name)).size < segments.length)
    throw new Error("a segment counts twice");
  const isAscending = segments.every(({ sequence }, i) => i === 0 || sequence >= segments[i - 1].sequence);
  if (!isAscending) throw new Error("segments are out of order");
}

/** Calls fail as the store does; any other failure is the index's own. */
function isFault(error: unknown): boolean {
  return error instanceof SealdexError && error.code === "storage_unavailable";
}

async function tolerate(work: Promise<unknown>, code?: string): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isFault(error) && !(error instanceof SealdexError && error.code === code)) throw error;
  }
}
