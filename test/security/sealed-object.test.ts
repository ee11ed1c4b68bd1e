import { createCipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from "node:crypto";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { equalInConstantTime, fingerprint, generateKey, parseIndexKey } from "../../src/crypto/keys.js";
import {
  generationOf,
  headerBytes,
  type ObjectContext,
  ObjectOpener,
  ObjectSealer,
  onlyKey,
  openObject,
  paddedLength,
  sealObject,
  tagBytes,
} from "../../src/crypto/sealed-object.js";

const parentKey = createSecretKey(randomBytes(32));
const parent = onlyKey(parentKey);
const context: ObjectContext = { kind: "segment", indexId: randomBytes(16), name: "index/a/segment/b" };

function sealBlocks(blocks: readonly Uint8Array[]): { header: Uint8Array; sealed: Uint8Array[] } {
  const sealer = new ObjectSealer(parent, context);
  const sealed = blocks.map((block) => sealer.seal(block));
  return { header: sealer.header, sealed };
}

test("opening inverts sealing, block by block in any order", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), (blocks) => {
      const { header, sealed } = sealBlocks(blocks);
      const opener = new ObjectOpener(parent, context, header);
      for (let i = blocks.length - 1; i >= 0; i--) {
        expect(sealed[i].length).toBe(paddedLength(blocks[i].length + 4) + tagBytes);
        expect(Buffer.compare(opener.open(i, sealed[i]), blocks[i])).toBe(0);
      }
    }),
  );
});

test("the bytes are those that docs/internals/format.md gives", () => {
  const plaintext = Buffer.from("what FORMAT.md says");
  const bytes = Buffer.from(sealObject(parent, context, plaintext));
  expect(bytes.subarray(0, 12)).toEqual(Buffer.from("534c44580204000000000000", "hex"));
  const salt = bytes.subarray(12, 44);
  const info = Buffer.concat([
    Buffer.from("sealdex/1/object\0\u0004", "latin1"),
    context.indexId,
    Buffer.from("index/a/segment/b"),
  ]);
  const derived = Buffer.from(hkdfSync("sha256", parentKey, salt, info, 64));
  expect(bytes.subarray(44, 76)).toEqual(derived.subarray(32));
  const cipher = createCipheriv("aes-256-gcm", derived.subarray(0, 32), Buffer.alloc(12));
  cipher.setAAD(Buffer.concat([bytes.subarray(0, 76), Buffer.alloc(4)]));
  // 19 bytes and the number of zeros are 23: of five bits, Padmé keeps three.
  const padded = Buffer.concat([plaintext, Buffer.from("0001000000", "hex")]);
  const expected = Buffer.concat([cipher.update(padded), cipher.final(), cipher.getAuthTag()]);
  expect(bytes.subarray(76)).toEqual(expected);
});

test("every flipped bit of an object is detected", () => {
  const bytes = sealObject(parent, context, Buffer.from("forty bytes of text that must not change"));
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const damaged = Uint8Array.from(bytes);
    damaged[bit >> 3] ^= 1 << (bit & 7);
    expect(() => openObject(parent, context, damaged), `bit ${bit}`).toThrowError(
      expect.objectContaining({ code: "corrupt" }),
    );
  }
});

test.each([
  ["no byte at all", Buffer.alloc(0)],
  ["fewer bytes than the number of zeros takes", Buffer.alloc(3)],
  ["more zeros than there are bytes", Buffer.from("0002000000", "hex")],
])("a block that its writer did not pad is corrupt: %s", (_, padded) => {
  const { header } = sealBlocks([]);
  const info = Buffer.concat([
    Buffer.from("sealdex/1/object\0\u0004", "latin1"),
    context.indexId,
    Buffer.from(context.name),
  ]);
  const key = Buffer.from(hkdfSync("sha256", parentKey, header.subarray(12, 44), info, 64)).subarray(0, 32);
  const cipher = createCipheriv("aes-256-gcm", key, Buffer.alloc(12));
  cipher.setAAD(Buffer.concat([header, Buffer.alloc(4)]));
  const sealed = Buffer.concat([cipher.update(padded), cipher.final(), cipher.getAuthTag()]);
  expect(() => new ObjectOpener(parent, context, header).open(0, sealed)).toThrowError(
    expect.objectContaining({
      code: "corrupt",
      message: "stored object index/a/segment/b: block 0 is not padded",
    }),
  );
});

test("a sealer counts its blocks", () => {
  const sealer = new ObjectSealer(parent, context);
  expect(sealer.blocks).toBe(0);
  sealer.seal(Buffer.of(1));
  sealer.sealPieces([Buffer.of(1), Buffer.of(2)]);
  expect(sealer.blocks).toBe(2);
});

test("an altered block is reported with the cipher's error as its cause", () => {
  const bytes = sealObject(parent, context, Buffer.from("short"));
  bytes[bytes.length - 1] ^= 1;
  expect(() => openObject(parent, context, bytes)).toThrowError(
    expect.objectContaining({
      code: "corrupt",
      message: "stored object index/a/segment/b: block 0 was altered",
      cause: expect.any(Error),
    }),
  );
});

test("bytes that are no object of this kind and format are reported as such, before keys are derived", () => {
  const bytes = sealObject(parent, context, Buffer.from("short"));
  for (let i = 0; i < 8; i++) {
    const other = Uint8Array.from(bytes);
    other[i] ^= 1;
    expect(() => openObject(parent, context, other)).toThrow("it is not a segment of format 2");
  }
});

test("a key of a generation that is not known seals and opens nothing", () => {
  const bytes = sealObject(parent, context, Buffer.from("short"));
  for (let i = 8; i < 12; i++) {
    const other = Uint8Array.from(bytes);
    other[i] ^= 1;
    expect(() => openObject(parent, context, other)).toThrow("a key that the index record lacks");
  }
  const unknown = { generation: 3, key: () => undefined };
  expect(() => sealObject(unknown, context, Buffer.from("short"))).toThrowError(
    expect.objectContaining({ code: "internal", message: "sealed object: unknown parent key" }),
  );
});

test("the generation of a key is read from a header, however short", () => {
  const header = sealObject(parent, context, Buffer.from("short")).subarray(0, headerBytes);
  const other = Buffer.concat([header.subarray(0, 8), Buffer.of(0, 0, 1, 2), header.subarray(12)]);
  expect(generationOf(other)).toBe(258);
  expect(generationOf(other.subarray(0, 12))).toBe(258);
  expect(generationOf(other.subarray(0, 11))).toBe(0);
  expect(generationOf(new Uint8Array(0))).toBe(0);
});

test("every truncation and any extension of an object is detected", () => {
  const bytes = sealObject(parent, context, Buffer.from("short"));
  expect(() => openObject(parent, context, bytes.subarray(0, headerBytes - 1))).toThrow("truncated");
  expect(() => openObject(parent, context, bytes.subarray(0, headerBytes + tagBytes - 1))).toThrow(
    "block 0 is truncated",
  );
  for (let length = 0; length < bytes.length; length++) {
    expect(() => openObject(parent, context, bytes.subarray(0, length))).toThrowError(
      expect.objectContaining({ code: "corrupt" }),
    );
  }
  expect(() => openObject(parent, context, Buffer.concat([bytes, Buffer.of(0)]))).toThrow("altered");
});

test("blocks do not open in each other's place or in another object", () => {
  const { header, sealed } = sealBlocks([Buffer.from("first"), Buffer.from("other")]);
  const opener = new ObjectOpener(parent, context, header);
  expect(() => opener.open(0, sealed[1])).toThrow("altered");
  const twin = sealBlocks([Buffer.from("first")]);
  expect(() => opener.open(0, twin.sealed[0])).toThrow("altered");
});

describe("an object opens only where it belongs:", () => {
  const bytes = sealObject(parent, context, Buffer.from("here"));
  const elsewhere: Record<string, ObjectContext> = {
    "not under another name": { ...context, name: "index/a/segment/c" },
    "not in another index": { ...context, indexId: randomBytes(16) },
    "not as another kind": { ...context, kind: "model" },
  };
  test.each(Object.entries(elsewhere))("%s", (_, other) => {
    expect(() => openObject(parent, other, bytes)).toThrowError(expect.objectContaining({ code: "corrupt" }));
  });
  test("not under another key", () => {
    const other = onlyKey(createSecretKey(randomBytes(32)));
    expect(() => openObject(other, context, bytes)).toThrow("sealed for another place or key");
  });
});

test("the same plaintext never gives the same bytes", () => {
  const seen = new Set<string>();
  for (let i = 0; i < 1000; i++) {
    const bytes = Buffer.from(sealObject(parent, context, Buffer.from("the same plaintext")));
    seen.add(bytes.subarray(headerBytes).toString("hex")).add(bytes.subarray(12, 44).toString("hex"));
  }
  expect(seen.size).toBe(2000);
});

test("secrets of different lengths differ, and equal ones are equal", () => {
  expect(equalInConstantTime(Buffer.from("secret"), Buffer.from("secret"))).toBe(true);
  expect(equalInConstantTime(Buffer.from("secret"), Buffer.from("secreT"))).toBe(false);
  expect(equalInConstantTime(Buffer.from("secret"), Buffer.from("secrets"))).toBe(false);
});

test("the fingerprint of an id is the beginning of its HMAC in UTF-8", () => {
  const id = "Käse 🧀";
  const idKey = createSecretKey(randomBytes(32));
  const expected = createHmac("sha256", idKey).update(Buffer.from(id, "utf8")).digest().subarray(0, 16);
  expect(Buffer.from(fingerprint(idKey, id))).toEqual(expected);
});

describe("index keys", () => {
  test("are accepted as 64 hexadecimal characters of either case, or as 32 bytes", () => {
    const key = generateKey();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    const expected = parseIndexKey(key);
    expect(parseIndexKey(key.toUpperCase()).equals(expected)).toBe(true);
    expect(parseIndexKey(Buffer.from(key, "hex")).equals(expected)).toBe(true);
  });

  test("given as bytes stay the caller's, unchanged", () => {
    const bytes = Uint8Array.from(randomBytes(32));
    const copy = bytes.slice();
    parseIndexKey(bytes);
    expect(bytes).toEqual(copy);
  });

  test.each([
    ["ab", "expected 64 hexadecimal characters, got 2 characters"],
    ["a".repeat(65), "expected 64 hexadecimal characters, got 65 characters"],
    [`${"a".repeat(64)}\n`, "got 65 characters with white space around them: trim() it"],
    ["z".repeat(64), "got 64 characters, not all hexadecimal"],
    [new Uint8Array(31), "expected 32 bytes, got 31"],
    [undefined, "got undefined"],
    [null, "got null"],
    [5, "got number"],
  ])("of another form are refused without being repeated (%#)", (key, message) => {
    expect(() => parseIndexKey(key)).toThrowError(
      expect.objectContaining({ code: "invalid_request", message: expect.stringContaining(message) }),
    );
  });

  test("are not shown by inspect or JSON", () => {
    const hex = generateKey();
    const shown =
      inspect(parseIndexKey(hex), { depth: 9, showHidden: true }) + JSON.stringify(parseIndexKey(hex));
    expect(shown).not.toContain(hex.slice(0, 8));
  });
});
