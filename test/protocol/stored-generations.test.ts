/** Under which keys stored manifests are sealed, as their headers say. */

import { expect, test } from "vitest";
import { storedGenerations } from "../../src/state/commit/read-object.js";
import { chain, indexId, keysUpTo, nameOf, recordingStore, sealAfter, storeAll } from "./commit-world.js";

test("the oldest and the newest manifest tell theirs, and one that is gone tells none", async () => {
  const { quiet } = recordingStore();
  expect(await storedGenerations(quiet, indexId)).toEqual({ oldest: undefined, newest: undefined });
  const manifests = chain(2, keysUpTo(1));
  await storeAll(quiet, [...manifests, sealAfter(manifests[1], keysUpTo(3))]);
  expect(await storedGenerations(quiet, indexId)).toEqual({ oldest: 1, newest: 3 });
  const goneAtOnce: typeof quiet = {
    ...quiet,
    read: async (name, range) => (name === nameOf(3) ? null : quiet.read(name, range)),
  };
  expect(await storedGenerations(goneAtOnce, indexId)).toEqual({ oldest: 1, newest: undefined });
});
