/** What the commit protocol refuses: names, manifests and anchors that cannot be right. */

import { describe, expect, test } from "vitest";
import { AnchorStore } from "../../src/commit/anchor-store.js";
import { AnchoredHistory } from "../../src/commit/anchored-history.js";
import type { IndexIdentity } from "../../src/commit/index-identity.js";
import { ManifestReader } from "../../src/commit/manifest-reader.js";
import { emptyManifest, openManifest, sealManifest } from "../../src/commit/manifest.js";
import {
  anchorName,
  checkIndexName,
  indexIdIn,
  indexNameOf,
  manifestName,
  parseAnchorName,
  recordName,
} from "../../src/commit/object-names.js";
import { sealObject } from "../../src/crypto/sealed-object.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord } from "./open.js";
import { StandingClock } from "./standing-clock.js";

const { keys, indexId } = fixedRecord();
const identity: IndexIdentity = { indexName: "borders", indexId, keys, renewKeys: async () => {} };

describe("a name of an index", () => {
  test.each([["a"], ["ä".repeat(64)], ["Käse 🧀/.."], [" "]])("may be %j", (name) => {
    checkIndexName(name);
    expect(indexNameOf(recordName(name, 1))).toBe(name);
  });

  test.each([
    [undefined, "indexName: expected a string, got undefined"],
    ["", "indexName: expected 1 to 128 bytes, got 0"],
    ["ä".repeat(65), "indexName: expected 1 to 128 bytes, got 130"],
    ["tab\t", "indexName: expected no control characters or lone surrogates"],
    ["\ud800", "indexName: expected no control characters or lone surrogates"],
  ])("may not be %j", (name, message) => {
    expect(() => checkIndexName(name)).toThrowError(
      expect.objectContaining({ code: "invalid_request", message }),
    );
  });

  test("is not read from keys that are not records", () => {
    const key = recordName("a", 1);
    // Another folder, another length of the number, a bit left over, a control character, bytes that are no UTF-8.
    const foreign = [
      `x${key}`,
      `${key}0`,
      key.replace("me", "mf"),
      recordName("\n", 1),
      key.replace("me", "74"),
    ];
    for (const name of foreign) expect(indexNameOf(name), name).toBeUndefined();
    expect(indexIdIn("index/short/manifest/1")).toBeUndefined();
    expect(indexIdIn(manifestName(indexId, 1))).toEqual(Buffer.from(indexId));
  });

  test("is in the name of its anchors, whose other parts are read back", () => {
    const parts = { generation: 3, indexId: Buffer.from(indexId), version: 70 };
    expect(parseAnchorName(anchorName("a", parts))).toEqual(parts);
  });
});

test("a manifest that declares another version than its name is corrupt", () => {
  const text = Buffer.from(JSON.stringify({ ...emptyManifest(0), version: 3 }));
  const signature = keys.sign("sealdex/1/manifest", Buffer.concat([indexId, text]));
  const context = { kind: "manifest", indexId, name: manifestName(indexId, 2) } as const;
  const bytes = sealObject(keys.data, context, Buffer.concat([signature, text]));
  expect(() => openManifest(keys, indexId, 2, bytes)).toThrowError(
    expect.objectContaining({ code: "corrupt", message: "manifest 2: it declares version 3" }),
  );
});

test("manifests that are listed and never there are missing", async () => {
  const store = createMemoryStore();
  await store.create(manifestName(indexId, 1), sealManifest(keys, indexId, emptyManifest(0)).bytes);
  let reads = 0;
  const forgetful = { ...store, read: async () => (reads++, null) };
  const reader = new ManifestReader(forgetful, identity, new StandingClock());
  await expect(reader.locate()).rejects.toMatchObject({
    code: "missing_object",
    message: 'index "borders": its manifests are gone',
  });
  expect(reads).toBe(3);
});

test("anchors that are listed and never there are an outage", async () => {
  const store = createMemoryStore();
  await store.create(anchorName("borders", { generation: 1, indexId, version: 1 }), new Uint8Array(1));
  const forgetful = { ...store, read: async () => null };
  await expect(new AnchorStore(forgetful, identity).newest()).rejects.toMatchObject({
    code: "storage_unavailable",
    message: 'index "borders": its anchors change too fast',
  });
});

test("a version that was proven cannot be anchored with another digest", async () => {
  const history = new AnchoredHistory(identity, undefined, undefined);
  const newest = sealManifest(keys, indexId, emptyManifest(0));
  const anchor = { indexId, version: 1, digest: newest.digest };
  await history.check(newest, anchor, async () => null);
  const other = { ...anchor, digest: "0".repeat(64) };
  await expect(history.check(newest, other, async () => null)).rejects.toMatchObject({
    code: "rollback_detected",
    message: 'index "borders": version 1 belongs to another history',
  });
});
