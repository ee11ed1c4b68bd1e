/**
 * Authentic data may be malformed, so each stored field is checked when it is opened. fields.ts lists them. With
 * SEALDEX_WRITE_FORMAT=1, the test writes the lists to docs/internals/format.md.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/core.js";
import { SealdexError } from "../../src/errors.js";
import { storeOf } from "../security/world.js";
import { errorOf, fields, fieldLists, openStored, storedObjects } from "./fields.js";
import { type StoredIndex, storedIndex } from "./stored-indexes.js";
import type { StoredParts } from "./stored-parts.js";

let stored: StoredIndex;
let ofCodes: StoredIndex;

beforeAll(async () => {
  const options = { metric: "euclidean", hasWords: true, isTrained: true } as const;
  stored = await storedIndex({ ...options, indexConfig: { type: "ivfflat" } });
  ofCodes = await storedIndex({ ...options, indexConfig: { type: "ivf" } });
});

test.each(storedObjects)("unchanged objects are opened: %s", async (object) => {
  await openStored(stored.parts, object);
  await openStored(ofCodes.parts, object);
});

test("an index that was taken apart and put together is the same", async () => {
  const parts = stored.parts.copy();
  for (const segment of parts.segments) segment.isChanged = true;
  for (const model of parts.models) model.isChanged = true;
  for (const object of storedObjects) await openStored(parts, object);
  expect(parts.seal().size).toBe(stored.parts.opened.blobs.size);
});

test.each(fields)(
  "$object: $field is $range, and nothing else",
  async ({ object, isOfCodes, accepted, refused, set }) => {
    const { parts: whole } = isOfCodes === true ? ofCodes : stored;
    for (const value of accepted(whole)) {
      const parts = whole.copy();
      set(parts, value);
      await openStored(parts, object);
    }
    for (const value of refused(whole)) {
      const parts = whole.copy();
      set(parts, value);
      const error: unknown = await openStored(parts, object).catch((thrown: unknown) => thrown);
      expect(error, `got ${JSON.stringify(value)}`).toBeInstanceOf(SealdexError);
      expect(error).toMatchObject({ code: errorOf(object) });
    }
  },
);

/** Of objects that are well-formed, each by itself. */
const disagreements: readonly (readonly [string, boolean, (parts: StoredParts) => void])[] = [
  ["rows of a segment", false, ({ manifest }) => void (manifest.segments.rows[0] = 1)],
  [
    "tombstones of a segment",
    false,
    ({ manifest }) => void manifest.segments.deleted[manifest.segments.deleted.length - 1]++,
  ],
  ["blocks of a segment", false, ({ manifest }) => void manifest.segments.blocks[0]--],
  ["the dimension of the index", false, ({ keyset }) => void (keyset.definition.config.dimension = 16)],
  ["the dimension of the manifest", false, ({ manifest }) => void (manifest.dimension = 16)],
  [
    "the model of codes",
    true,
    ({ manifest }) => void (manifest.models[0] = `${manifest.model.name.slice(0, -22)}${"A".repeat(22)}`),
  ],
];

test.each(disagreements)("objects agree on %s", async (_, isOfCodes, change) => {
  const { parts: whole, indexName, indexKey, dimension } = isOfCodes ? ofCodes : stored;
  const parts = whole.copy();
  change(parts);
  await using client = createClient({ indexLocation: storeOf(parts.seal()) });
  const queried = async () => {
    const index = await client.loadIndex({ indexName, indexKey });
    await index.query({ queryVector: new Float32Array(dimension).fill(1), topK: 200, nProbes: 100 });
  };
  await expect(queried()).rejects.toMatchObject({ code: "corrupt" });
});

test("each field is checked in a file that there is", () => {
  const missing = fields.filter(
    ({ checkedIn }) => !existsSync(new URL(`../../src/${checkedIn}`, import.meta.url)),
  );
  expect(missing).toEqual([]);
});

test("docs/internals/format.md lists the fields", () => {
  const file = new URL("../../docs/internals/format.md", import.meta.url);
  const text = readFileSync(file, "utf8");
  const written = text.replace(
    /(<!-- fields: test\/format\/fields\.ts -->\n)[\s\S]*?(<!-- end of fields -->)/,
    (_, start: string, end: string) => `${start}\n${fieldLists()}\n\n${end}`,
  );
  if (process.env.SEALDEX_WRITE_FORMAT === "1") writeFileSync(file, written);
  else expect(text).toBe(written);
  expect(written).toContain(fieldLists());
});
