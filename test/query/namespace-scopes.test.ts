/** Namespaces that a client has open: 4,096 besides those in use. */

import { expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, openIndex } from "../protocol/open.js";

test("the scope that was used least recently is closed for one too many, unless it is in use", async () => {
  const { index, inner, close } = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await inner.log.createFirst();
  for (const namespace of ["ann", "bob"]) await index.upsert([{ id: "a", vector: [1] }], { namespace });
  const { scopes, searcher } = inner;
  const bytes = () => searcher.memory().cacheBytes;
  const [ann, bob] = [scopes.of("ann"), scopes.of("bob")];
  expect((await ann.snapshots.newest()).listBlocks.all.length).toBe(1);
  let end = () => {};
  let begin = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const reading = bob.snapshots.read(() => {
    begin();
    return new Promise<void>((resolve) => (end = resolve));
  });
  await begun;
  const opened = bytes();
  const first = scopes.of("0");
  expect(scopes.of("ann")).toBe(ann);
  for (let i = 1; i < 4096; i++) scopes.of(`${i}`);
  expect(scopes.of("bob")).toBe(bob);
  expect(scopes.of("0")).not.toBe(first);
  for (let i = 0; i < 4096; i++) scopes.of(`${i}`);
  expect(scopes.of("ann")).not.toBe(ann);
  expect(bytes()).toBeLessThan(opened);
  end();
  await reading;
  await close();
});
