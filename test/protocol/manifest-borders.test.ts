/** Refusals of the commit protocol: names, manifests and anchors that cannot be right. */

import { describe, expect, test } from "vitest";
import { decodeAnchor, encodeAnchor } from "../../src/state/commit/anchor.js";
import { emptyManifest, type Manifest, type ShardRef } from "../../src/state/commit/manifest.js";
import { encodeManifest, openManifest, sealManifest } from "../../src/state/commit/stored-manifest.js";
import {
  afterRecords,
  anchorName,
  bornAt,
  folderPrefix,
  checkIndexName,
  indexNameOf,
  indexObjectKinds,
  isNumbered,
  manifestName,
  manifestPrefix,
  namespaceName,
  newObjectName,
  numberOf,
  parseOrphanName,
  orphanName,
  parseAnchorName,
  recordName,
  recordPrefix,
} from "../../src/state/commit/object-names.js";
import { secretKey } from "../../src/crypto/keys.js";
import { headerOf, sealObject } from "../../src/crypto/sealed-object.js";
import { indexId, keysUpTo, segmentRef } from "./commit-world.js";

const keys = keysUpTo(1);

describe("a name of an index", () => {
  test.each([["a"], ["abcde"], ["ä".repeat(64)], ["Käse 🧀/.."], [" "]])("may be %j", (name) => {
    checkIndexName(name);
    expect(indexNameOf(recordName(name, 1))).toBe(name);
  });

  test.each([
    [undefined, "indexName: expected a string, got undefined"],
    ["", "indexName: expected 1 to 128 bytes, got 0"],
    ["ä".repeat(65), "indexName: expected 1 to 128 bytes, got 130"],
    [`${"a".repeat(127)}\t`, "indexName: expected no control characters or lone surrogates"],
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
  });

  test("is in the name of its anchors, whose other parts are read back", () => {
    const parts = { generation: 3, indexId: Buffer.from(indexId), version: 70 };
    const name = anchorName("a", parts);
    expect(parseAnchorName(name)).toEqual(parts);
    const beyond = name.replace(/\d{16}/, "9".repeat(16));
    for (const other of ["", "anchors/c4", `${name}0`, `x${name}`, name.toUpperCase(), beyond]) {
      expect(() => parseAnchorName(other), other).toThrowError(expect.objectContaining({ code: "corrupt" }));
    }
  });
});

describe("names of objects", () => {
  const id = Buffer.from(indexId).toString("hex");

  test("are those that docs/internals/format.md gives", () => {
    const handle = new Uint8Array(16).fill(1);
    expect(recordName("a", 1)).toBe("names/c4/9007199254740990");
    // RFC 4648 §10 has these examples.
    for (const [name, encoded] of [
      ["fo", "cpng"],
      ["foob", "cpnmuog"],
      ["fooba", "cpnmuoj1"],
      ["foobar", "cpnmuoj1e8"],
    ]) {
      expect(recordPrefix(name)).toBe(`names/${encoded}/`);
    }
    expect(folderPrefix("foobar")).toBe("index/cpnmuoj1e8/");
    expect(manifestName(indexId, 258)).toBe(`index/${id}/manifest/9007199254740733`);
    expect(namespaceName(indexId, handle, 0)).toBe(
      `index/${id}/namespace/${"01".repeat(16)}/9007199254740991`,
    );
    const orphan = orphanName({ indexName: "a", indexId }, 1_800_000_000_000);
    expect(orphan).toBe(`orphans/c4/${id}/0001800000000000`);
    const parts = { generation: 2, indexId, version: 3 };
    expect(anchorName("a", parts)).toBe(`anchors/c4/9007199254740989/${id}/9007199254740988`);
    for (const kind of indexObjectKinds) {
      const name = newObjectName(indexId, kind, 77);
      expect(name).toMatch(new RegExp(`^index/${id}/${kind}/0000000000000077[0-9a-f]{32}$`));
      expect(bornAt(name)).toBe(77);
      expect(newObjectName(indexId, kind, 77)).not.toBe(name);
    }
    expect(indexObjectKinds).toEqual(["segment", "model"]);
  });

  test("give back their parts", () => {
    const orphan = { indexName: "a", indexId: Buffer.from(indexId), since: 1_800_000_000_000 };
    expect(parseOrphanName(orphanName(orphan, orphan.since))).toEqual(orphan);
    expect(numberOf(manifestName(indexId, 258))).toBe(258);
    const prefix = manifestPrefix(indexId);
    expect(isNumbered(manifestName(indexId, 258), prefix)).toBe(true);
    const foreign = [
      `${prefix}258`,
      `${prefix}${"0".repeat(17)}`,
      `${prefix}${"x".repeat(16)}`,
      `x${prefix}`,
    ];
    for (const key of [...foreign, manifestName(indexId, 1).replace("index", "INDEX")]) {
      expect(isNumbered(key, prefix), key).toBe(false);
    }
  });

  test("of records are before later names, and after earlier ones", () => {
    const after = afterRecords("a");
    expect(after).toBe("names/c40");
    expect(after > recordName("a", 1)).toBe(true);
    for (const later of ["a ", "aa", "b", "ü"]) expect(after < recordName(later, 1), later).toBe(true);
    expect(afterRecords("")).toBe("names/");
    expect(afterRecords("z".repeat(10_000))).toBe(afterRecords("z".repeat(129)));
  });

  test.each([
    "orphans/readme",
    `orphans/c4/${id}`,
    `orphans/c4/${id}/1`,
    `orphans/c4/${id}a/${"0".repeat(16)}`,
    `x/orphans/c4/${id}/${"0".repeat(16)}`,
    `orphans/c4/${"g".repeat(32)}/${"0".repeat(16)}`,
    `orphans/c5/${id}/${"0".repeat(16)}`,
    `orphans/w0/${id}/${"0".repeat(16)}`,
  ])("%s marks no index", (key) => {
    expect(parseOrphanName(key)).toBeUndefined();
  });
});

test("a manifest that declares another version than its name is corrupt", () => {
  const text = Buffer.from(JSON.stringify(encodeManifest({ ...emptyManifest(0), version: 3 })));
  const signature = keys.sign("sealdex/1/manifest", Buffer.concat([indexId, text]));
  const context = { kind: "manifest", indexId, name: manifestName(indexId, 2) } as const;
  const bytes = sealObject(keys.data, context, Buffer.concat([signature, text]));
  expect(() => openManifest(keys, indexId, 2, bytes)).toThrowError(
    expect.objectContaining({ code: "corrupt", message: "manifest 2: version: expected 2, got 3" }),
  );
});

test("a manifest of a version that has no next one is corrupt", () => {
  const version = Number.MAX_SAFE_INTEGER;
  const { bytes } = sealManifest(keys, indexId, { ...emptyManifest(0), version, previous: "0".repeat(64) });
  expect(() => openManifest(keys, indexId, version, bytes)).toThrowError(
    expect.objectContaining({ code: "corrupt" }),
  );
});

describe("the manifest of a collection", () => {
  const shard = (from: number) => ({
    from,
    indexId: from.toString(16).padStart(32, "0"),
    version: 1,
    digest: "0".repeat(64),
  });
  const secret = secretKey(new Uint8Array(32));
  const shardSecrets = [secret];
  const opened = (members: Partial<Manifest>) => {
    const second = { ...emptyManifest(0), version: 2, previous: "0".repeat(64), ...members };
    const { bytes } = sealManifest(keys, indexId, second);
    return openManifest(keys, indexId, 2, bytes).manifest;
  };

  test("names 1 to 4,096 shards", () => {
    const most = Array.from({ length: 4096 }, (_, i) => shard(i));
    for (const shards of [[shard(0)], most]) {
      const manifest = opened({ shards, shardSecrets });
      expect(manifest).toMatchObject({ shards });
      expect(manifest.shardSecrets?.[0].equals(secret)).toBe(true);
    }
  });

  test("names spare shards, with ranges of others", () => {
    const suffix = "0123456789abcdef";
    const shards = [{ ...shard(0), suffix }, shard(5)];
    const spare = { ...shard(0), indexId: "f".repeat(32) };
    const spareShards = [{ ...spare, retired: 2 }, { ...shard(6), suffix, retired: 0 }, shard(7)];
    expect(opened({ shards, shardSecrets, spareShards })).toMatchObject({ shards, spareShards });
    expect(opened({ shards, shardSecrets }).spareShards).toBeUndefined();
  });

  const header = Buffer.from(headerOf("segment", 1, new Uint8Array(64))).toString("base64");
  const segment = segmentRef(newObjectName(indexId, "segment", 1), { header, length: 200, footerLength: 20 });

  test.each<[string, Partial<Manifest>, string]>([
    ["no shards", { shards: [], shardSecrets }, "1 to 4096 of them, got 0"],
    [
      "4,097 shards",
      { shards: Array.from({ length: 4097 }, (_, i) => shard(i)), shardSecrets },
      "1 to 4096 of them, got 4097",
    ],
    ["shards without their secret", { shards: [shard(0)] }, "shards and their secrets, or neither"],
    ["a secret without shards", { shardSecrets }, "shards and their secrets, or neither"],
    ["three secrets", { shards: [shard(0)], shardSecrets: [secret, secret, secret] }, "an array of 1 to 2"],
    ["no secret", { shards: [shard(0)], shardSecrets: [] }, "an array of 1 to 2"],
    ["shards and a segment", { shards: [shard(0)], shardSecrets, segments: [segment] }, "none beside shards"],
    [
      "a shard twice",
      { shards: [shard(0), { ...shard(1), indexId: shard(0).indexId }], shardSecrets },
      "each shard once",
    ],
    [
      "shards that are not ascending",
      { shards: [shard(0), shard(2), shard(1)], shardSecrets },
      "ascending from 0",
    ],
    ["spare shards of an index", { spareShards: [shard(1)] }, "none without shards"],
    ["an empty list of spare shards", { shards: [shard(0)], shardSecrets, spareShards: [] }, "one at least"],
    [
      "a shard that is a part, and spare",
      { shards: [shard(0)], shardSecrets, spareShards: [shard(0)] },
      "each shard once",
    ],
    [
      "a part that is retired",
      { shards: [{ ...shard(0), retired: 1 } as ShardRef], shardSecrets },
      "no members but from, indexId, version, digest, suffix",
    ],
    [
      "a shard that is retired in a later version",
      { shards: [shard(0)], shardSecrets, spareShards: [{ ...shard(1), retired: 3 }] },
      "an integer from 0 to 2, got 3",
    ],
    [
      "a shard with another suffix",
      { shards: [{ ...shard(0), suffix: "0".repeat(15) }], shardSecrets },
      "8 bytes in hexadecimal",
    ],
    ["a first shard that begins above 0", { shards: [shard(1)], shardSecrets }, "ascending from 0"],
  ])("with %s is corrupt", (_, members, message) => {
    const corrupt = { code: "corrupt", message: expect.stringContaining(`expected ${message}`) };
    expect(() => opened(members)).toThrowError(expect.objectContaining(corrupt));
  });
});

describe("an anchor's token", () => {
  const digest = "0123456789abcdef".repeat(4);
  const tokenOf = (version: bigint) => {
    const bytes = Buffer.concat([indexId, Buffer.alloc(8), Buffer.from(digest, "hex")]);
    bytes.writeBigUInt64BE(version, 16);
    return `sealdex-anchor-1-${bytes.toString("base64url")}`;
  };

  test.each([1, 258, Number.MAX_SAFE_INTEGER])("holds id, version %d and digest", (version) => {
    const anchor = { indexId, version, digest };
    expect(encodeAnchor(anchor)).toBe(tokenOf(BigInt(version)));
    expect(decodeAnchor(encodeAnchor(anchor))).toEqual(anchor);
  });

  const good = tokenOf(7n);
  test.each([
    [undefined],
    [7],
    [{ toString: () => good }],
    [good.slice(1)],
    [good.slice(0, -1)],
    [` ${good}`],
    [`${good}A`],
    [`${good}\n`],
    [good.replace(/.$/, "=")],
    // A bit of the padding is set.
    [good.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1))],
    [tokenOf(0n)],
    [tokenOf(2n ** 53n)],
    [tokenOf(2n ** 64n - 1n)],
  ])("is not %j", (token) => {
    expect(() => decodeAnchor(token)).toThrowError(
      expect.objectContaining({
        code: "invalid_request",
        message: "anchor: expected a token that anchor() returned",
      }),
    );
  });
});
