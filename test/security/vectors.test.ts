/** Results equal those of the standards: published vectors, and an independent implementation on random input. */

import { createCipheriv, createSecretKey, hkdfSync, sign } from "node:crypto";
import { gcm } from "@noble/ciphers/aes.js";
import { ed25519 } from "@noble/curves/ed25519.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  deriveDataKey,
  deriveLastingKeys,
  deriveNamespaceKey,
  deriveWrapKeys,
  namespaceCheck,
} from "../../src/crypto/keys.js";
import { ObjectOpener, ObjectSealer, onlyKey, paddingFor } from "../../src/crypto/sealed-object.js";
import {
  isSignedBy,
  newSigningSeed,
  signingKey,
  signMessage,
  verifyKey,
  verifyKeyOf,
} from "../../src/crypto/signing.js";

const bytes = (hex: string) => Buffer.from(hex, "hex");

describe("HKDF-SHA-256, RFC 5869, appendix A", () => {
  test.each([
    {
      ikm: "0b".repeat(22),
      salt: "000102030405060708090a0b0c",
      info: "f0f1f2f3f4f5f6f7f8f9",
      okm: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    },
    {
      ikm: "0b".repeat(22),
      salt: "",
      info: "",
      okm: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    },
  ])("gives $okm", ({ ikm, salt, info, okm }) => {
    expect(Buffer.from(hkdfSync("sha256", bytes(ikm), bytes(salt), bytes(info), 42)).toString("hex")).toBe(
      okm,
    );
    expect(Buffer.from(hkdf(sha256, bytes(ikm), bytes(salt), bytes(info), 42)).toString("hex")).toBe(okm);
  });
});

describe("AES-256-GCM, test cases 13 to 16 of its specification", () => {
  const key = "feffe9928665731c6d6a8f9467308308".repeat(2);
  const nonce = "cafebabefacedbaddecaf888";
  const plaintext =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72" +
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255";
  const ciphertext =
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa" +
    "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad";
  const zero = { key: "00".repeat(32), nonce: "00".repeat(12), aad: "" };
  test.each([
    { ...zero, plaintext: "", sealed: "530f8afbc74536b9a963b4f1c4cb738b" },
    {
      ...zero,
      plaintext: "00".repeat(16),
      sealed: "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919",
    },
    { key, nonce, aad: "", plaintext, sealed: `${ciphertext}b094dac5d93471bdec1a502270e3cc6c` },
    {
      key,
      nonce,
      aad: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      plaintext: plaintext.slice(0, 120),
      sealed: `${ciphertext.slice(0, 120)}76fc6ece0f4e1768cddf8853bb2d551b`,
    },
  ])("gives $sealed", ({ key: k, nonce: n, aad, plaintext: p, sealed }) => {
    const cipher = createCipheriv("aes-256-gcm", bytes(k), bytes(n), { authTagLength: 16 });
    cipher.setAAD(bytes(aad));
    const made = Buffer.concat([cipher.update(bytes(p)), cipher.final(), cipher.getAuthTag()]);
    expect(made.toString("hex")).toBe(sealed);
    expect(Buffer.from(gcm(bytes(k), bytes(n), bytes(aad)).encrypt(bytes(p))).toString("hex")).toBe(sealed);
  });
});

test("Ed25519, RFC 8032, test 1: keys and signature", () => {
  const seed = bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
  const key = signingKey(seed);
  expect(Buffer.from(verifyKeyOf(key)).toString("hex")).toBe(publicKey);
  expect(sign(null, Buffer.alloc(0), key).toString("hex")).toBe(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  );
});

test("signatures are those of an independent implementation over label, zero byte and message", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.constantFrom("sealdex/1/manifest", "sealdex/1/other"),
      fc.uint8Array({ maxLength: 200 }),
      (seed, label, message) => {
        const signed = Buffer.concat([Buffer.from(label), Buffer.of(0), message]);
        const key = signingKey(seed);
        const signature = signMessage(key, label, message);
        expect(Buffer.from(ed25519.sign(signed, seed)).equals(signature)).toBe(true);
        const check = verifyKey(verifyKeyOf(key));
        expect(isSignedBy(check, label, message, signature)).toBe(true);
        expect(isSignedBy(check, `${label}s`, message, signature)).toBe(false);
        expect(isSignedBy(check, label, Buffer.concat([message, Buffer.of(0)]), signature)).toBe(false);
      },
    ),
    { numRuns: 50 },
  );
});

test("a new signing key is a seed of 32 bytes, each time another", () => {
  const seeds = Array.from({ length: 20 }, newSigningSeed);
  expect(seeds.map(({ length }) => length)).toEqual(seeds.map(() => 32));
  expect(new Set(seeds.map((seed) => Buffer.from(seed).toString("hex"))).size).toBe(20);
  const message = Buffer.from("message");
  const signature = signMessage(signingKey(seeds[0]), "label", message);
  const isBy = (seed: Uint8Array) =>
    isSignedBy(verifyKey(verifyKeyOf(signingKey(seed))), "label", message, signature);
  expect([isBy(seeds[0]), isBy(seeds[1])]).toEqual([true, false]);
});

test("every derived key is that of an independent implementation, and no two are equal", () => {
  const key32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const id16 = fc.uint8Array({ minLength: 16, maxLength: 16 });
  fc.assert(
    fc.property(key32, key32, id16, (secret, salt, indexId) => {
      const expected = (label: string, by: Uint8Array) =>
        Buffer.from(
          hkdf(sha256, secret, by, Buffer.concat([Buffer.from(`sealdex/1/${label}\0`), indexId]), 32),
        );
      const none = new Uint8Array(0);
      const wrap = deriveWrapKeys(createSecretKey(secret), salt, indexId);
      const lasting = deriveLastingKeys(Uint8Array.from(secret), indexId);
      const ofNamespace = deriveNamespaceKey(createSecretKey(secret), createSecretKey(salt), indexId);
      const check = namespaceCheck(createSecretKey(secret), indexId);
      expect(Buffer.from(check)).toEqual(expected("namespace-check", none).subarray(0, 16));
      const derived = {
        "key-encryption": [wrap.keyEncryption.export(), salt],
        "key-check": [Buffer.from(wrap.keyCheck), salt],
        id: [lasting.id.export(), none],
        namespace: [lasting.namespace.export(), none],
        "namespace-name": [lasting.namespaceName.export(), none],
        "namespace-data": [ofNamespace.export(), salt],
        data: [deriveDataKey(Uint8Array.from(secret), indexId).export(), none],
      } as const;
      for (const [label, [made, by]] of Object.entries(derived)) expect(made).toEqual(expected(label, by));
      expect(new Set(Object.values(derived).map(([made]) => made.toString("hex"))).size).toBe(7);
    }),
    { numRuns: 50 },
  );
});

test("an independent implementation opens objects sealed here, and its objects open here", () => {
  const parent = createSecretKey(Buffer.alloc(32, 7));
  const context = { kind: "segment", indexId: new Uint8Array(16), name: "index/a/segment/b" } as const;
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 }), (blocks) => {
      const sealer = new ObjectSealer(onlyKey(parent), context);
      const info = Buffer.concat([
        Buffer.from("sealdex/1/object\0\u0004"),
        context.indexId,
        Buffer.from(context.name),
      ]);
      const key = hkdf(sha256, parent.export(), sealer.header.subarray(12, 44), info, 64).subarray(0, 32);
      const opener = new ObjectOpener(onlyKey(parent), context, sealer.header);
      blocks.forEach((block, i) => {
        const number = Buffer.from([0, 0, 0, i]);
        const other = gcm(
          key,
          Buffer.concat([new Uint8Array(8), number]),
          Buffer.concat([sealer.header, number]),
        );
        const padded = Buffer.concat([block, paddingFor(block.length)]);
        expect(Buffer.from(other.decrypt(sealer.seal(block))).equals(padded)).toBe(true);
        expect(Buffer.from(opener.open(i, other.encrypt(padded))).equals(block)).toBe(true);
      });
    }),
    { numRuns: 50 },
  );
});
