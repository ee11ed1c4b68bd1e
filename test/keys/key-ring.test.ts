/** The keys of an open index: what signs, what checks, and what stays of the bytes that brought them. */

import { expect, test } from "vitest";
import { KeyRing } from "../../src/keys/key-ring.js";
import { indexId, keysetUpTo, keysUpTo } from "../protocol/commit-world.js";

const message = Buffer.from("message");

test("every signature of a writer is by the newest key that it was given", () => {
  const ring = keysUpTo(1);
  const signed = [ring.sign("label", message), ring.sign("label", message)];
  ring.update(keysetUpTo(2));
  const renewed = ring.sign("label", message);
  // A record that was read before the newer one, and arrives after it.
  ring.update(keysetUpTo(1));
  const afterwards = ring.sign("label", message);
  const reader = keysUpTo(2);
  const isBy = (generation: number, signature: Uint8Array) =>
    reader.isSigned(generation, "label", message, signature);
  expect(signed.map((signature) => isBy(1, signature))).toEqual([true, true]);
  expect([isBy(2, renewed), isBy(2, afterwards), isBy(1, afterwards)]).toEqual([true, true, false]);
});

test("a holder who lost write access signs no more", () => {
  const ring = keysUpTo(1);
  ring.sign("label", message);
  const { signingSeed: _, ...readers } = keysetUpTo(2);
  ring.update({ ...readers, access: "read-only" });
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
