/** What a client has open of the whole index and of single namespaces. */

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import type { Manifest } from "../../src/state/commit/manifest.js";
import { fingerprintsIn } from "../../src/query/snapshot/find-rows.js";
import type { SearchTarget } from "../../src/index/open/namespace-scopes.js";
import { keysOfSegment } from "../../src/query/snapshot/segment-keys.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

let open: Opened;

const items = (...ids: string[]) => ids.map((id, i) => ({ id, vector: [i, 1] }));

beforeEach(async () => {
  open = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await open.inner.log.createFirst();
  await open.index.upsert(items("a", "b"));
  await open.index.upsert(items("a", "c"), { namespace: "ann" });
  await open.index.upsert(items("d"), { namespace: "ann" });
  await open.index.upsert(items("a"), { namespace: "bob" });
});

afterEach(() => open.close());

const namesOf = async ({ snapshots }: SearchTarget) =>
  (await snapshots.newest()).segments.map(({ namespace }) => namespace);

/** A read that is in progress until `end`. */
function reading({ snapshots }: SearchTarget) {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let begun: () => void = () => undefined;
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const result = snapshots.read(async () => {
    begun();
    await ended;
  });
  return {
    isBegun,
    async end() {
      end();
      await result;
    },
  };
}

describe("a scope", () => {
  test("of a namespace has its segments alone, and that of the index all", async () => {
    const { scopes } = open.inner;
    expect(await namesOf(scopes.of("ann"))).toEqual(["ann", "ann"]);
    expect(await namesOf(scopes.of("bob"))).toEqual(["bob"]);
    expect(await namesOf(scopes.of("carl"))).toEqual([]);
    expect(await namesOf(scopes.whole)).toEqual([undefined, "ann", "ann", "bob"]);
    await open.index.upsert(items("e"), { namespace: "carl" });
    expect(await namesOf(scopes.of("carl"))).toEqual(["carl"]);
    expect(await namesOf(scopes.of("ann"))).toEqual(["ann", "ann"]);
    const { manifest } = await scopes.of("bob").snapshots.newest();
    const { segments, ...others } = (await scopes.whole.snapshots.newest()).manifest;
    expect(manifest).toEqual({ ...others, segments: segments.slice(3, 4) });
  });

  test("stays open for the next call, and the one that was used least recently is closed for one too many", async () => {
    const { scopes } = open.inner;
    const ann = scopes.of("ann");
    const bob = scopes.of("bob");
    const busy = reading(bob);
    await busy.isBegun;
    expect(scopes.of("ann")).toBe(ann);
    const others = Array.from({ length: 4094 }, (_, i) => scopes.of(`${i}`));
    expect(scopes.of("ann")).toBe(ann);
    expect(scopes.of("bob")).toBe(bob);
    // Now "0" is the oldest.
    scopes.of("one too many");
    expect(scopes.of("1")).toBe(others[1]);
    expect(scopes.of("ann")).toBe(ann);
    expect(scopes.of("0")).not.toBe(others[0]);
    expect(scopes.of("2")).not.toBe(others[2]);
    await busy.end();
  });

  test("that is in use is not closed", async () => {
    const { scopes } = open.inner;
    const bob = scopes.of("bob");
    const busy = reading(bob);
    await busy.isBegun;
    const first = scopes.of("0");
    for (let i = 1; i < 4096; i++) scopes.of(`${i}`);
    expect(scopes.of("bob")).toBe(bob);
    expect(scopes.of("0")).not.toBe(first);
    await busy.end();
  });

  test("that is closed gives back what it had in memory", async () => {
    const { scopes, searcher } = open.inner;
    const bytes = () => searcher.memory().cacheBytes;
    const { snapshots } = scopes.of("ann");
    const snapshot = await snapshots.newest();
    const before = bytes();
    expect(snapshot.listBlocks.all.length).toBe(2);
    expect(bytes()).toBeGreaterThan(before);
    for (let i = 0; i < 4096; i++) scopes.of(`${i}`);
    expect(bytes()).toBeLessThanOrEqual(before);
  });

  test("names the objects that reads in progress need", async () => {
    const { scopes } = open.inner;
    expect([...scopes.namesInUse()]).toEqual([]);
    const ofAnn = (await scopes.of("ann").snapshots.newest()).segments.map(({ ref }) => ref.name);
    const whole = reading(scopes.whole);
    await whole.isBegun;
    expect(scopes.namesInUse().size).toBe(4);
    const busy = reading(scopes.of("ann"));
    await busy.isBegun;
    expect(scopes.namesInUse().size).toBe(4);
    await whole.end();
    expect([...scopes.namesInUse()].toSorted()).toEqual(ofAnn.toSorted());
    await busy.end();
    expect(scopes.namesInUse().size).toBe(0);
  });
});

describe("a newer manifest", () => {
  /** Memory of snapshots of the index and of a namespace, with what both have summed up. */
  async function opened() {
    const { scopes, searcher } = open.inner;
    const targets = [scopes.whole, scopes.of("ann")];
    const snapshots = await Promise.all(targets.map(({ snapshots: own }) => own.newest()));
    for (const { listBlocks } of snapshots) expect(listBlocks.all.length).toBeGreaterThan(0);
    return { scopes, manifest: snapshots[0].manifest, bytes: () => searcher.memory().cacheBytes };
  }

  const without = (manifest: Manifest, namespace: string | undefined, version: number): Manifest => ({
    ...manifest,
    version,
    segments: manifest.segments.filter((ref) => ref.namespace === namespace),
  });

  test("closes snapshots whose segments it has not, and leaves the others", async () => {
    const { scopes, manifest, bytes } = await opened();
    const before = bytes();
    scopes.refresh({ ...manifest, version: manifest.version + 1 });
    expect(bytes()).toBe(before);
    const ann = manifest.segments[1].namespace;
    scopes.refresh(without(manifest, ann, manifest.version + 2));
    const left = bytes();
    expect(left).toBeLessThan(before);
    scopes.refresh(without(manifest, "none", manifest.version + 2));
    scopes.refresh(without(manifest, "none", manifest.version + 1));
    expect(bytes()).toBe(left);
    scopes.refresh(without(manifest, "none", manifest.version + 3));
    expect(bytes()).toBeLessThan(left);
  });

  test("of any scope closes outdated snapshots of the others", async () => {
    const { scopes, bytes } = await opened();
    const before = bytes();
    await open.index.compact();
    await scopes.of("bob").snapshots.newest();
    expect(bytes()).toBeLessThan(before);
  });
});

test("fingerprints of a namespace are masked with its id, which undoes itself", () => {
  const prints = [Uint8Array.of(1, 2, 255), Uint8Array.of(0, 0, 0)];
  expect(fingerprintsIn(undefined, prints)).toBe(prints);
  const masked = fingerprintsIn("0f10ff", prints);
  expect(masked).toEqual([Uint8Array.of(14, 18, 0), Uint8Array.of(15, 16, 255)]);
  expect(fingerprintsIn("0f10ff", masked)).toEqual(prints);
});

test("a segment has the keys of its namespace, and without one those of the index", async () => {
  const { keys, namespaces } = open.inner;
  const { segments } = (await open.inner.snapshots.newest()).manifest;
  expect(await keysOfSegment({ keys, namespaces }, segments[0])).toBe(keys.data);
  const { namespace } = segments[1];
  expect(namespace).toBeDefined();
  const own = await keysOfSegment({ keys, namespaces }, segments[1]);
  expect(own).toBe((await namespaces.byId(namespace as string)).keys);
  expect(own).not.toBe(keys.data);
});
