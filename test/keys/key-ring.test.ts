/** The keys of an open index: signing, checking, and zeroing of the bytes that contained them. */

import { expect, test } from "vitest";
import { KeyRing } from "../../src/keys/key-ring.js";
import { indexId, keysetUpTo, keysUpTo } from "../protocol/commit-world.js";

const message = Buffer.from("message");

test("a writer signs by the generation in force, which manifests bring, or by one that it names", () => {
  const ring = keysUpTo(1);
  const reader = keysUpTo(2);
  const isBy = (generation: number, signature: Uint8Array) =>
    reader.isSigned(generation, "label", message, signature);
  expect(isBy(1, ring.sign("label", message))).toBe(true);
  ring.update(keysetUpTo(2));
  expect(isBy(1, ring.sign("label", message))).toBe(true);
  expect(isBy(2, ring.sign("label", message, 2))).toBe(true);
  ring.advance(2);
  // An earlier read arrives later.
  ring.update(keysetUpTo(1));
  ring.advance(1);
  expect([ring.generation, isBy(2, ring.sign("label", message))]).toEqual([2, true]);
});

test("a generation counts until a later one does, as soon as that is known", () => {
  const ring = keysUpTo(1);
  const counting = () =>
    [1, 2].map((generation) => [4, 5, 6].map((version) => ring.counts(generation, version)));
  ring.update(keysetUpTo(2));
  expect(counting()).toEqual([
    [true, true, true],
    [true, true, true],
  ]);
  ring.update(keysetUpTo(2, 5));
  expect(counting()).toEqual([
    [true, false, false],
    [true, true, true],
  ]);
  expect(ring.since).toBeUndefined();
  ring.advance(2);
  expect(ring.since).toBe(5);
});

test("a holder who lost write access signs no more", () => {
  const ring = keysUpTo(1);
  ring.sign("label", message);
  const { signingSeed: _, ...readers } = keysetUpTo(2);
  ring.update({ ...readers, access: "read-only" });
  ring.advance(2);
  expect(() => ring.sign("label", message)).toThrow(expect.objectContaining({ code: "forbidden" }));
});

test("of the bytes of a keyset no secret stays, also of one that is older than the keys in use", () => {
  const ring = new KeyRing(indexId, keysetUpTo(2));
  const secretsOf = ({ indexSecret, generations, signingSeed }: ReturnType<typeof keysetUpTo>) =>
    [indexSecret, ...generations.map(({ secret }) => secret), signingSeed].map((bytes) =>
      bytes?.some(Boolean),
    );
  for (const last of [1, 2, 3]) {
    const keyset = keysetUpTo(last);
    expect(secretsOf(keyset)).not.toContain(false);
    ring.update(keyset);
    expect(secretsOf(keyset)).not.toContain(true);
  }
  ring.sign("label", message);
});
