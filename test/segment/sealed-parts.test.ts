/** Sealed blocks become one object, however long it was expected to be. */

import { createSecretKey, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { headerBytes, ObjectOpener, onlyKey } from "../../src/crypto/sealed-object.js";
import { SealedParts } from "../../src/state/segment/sealed-parts.js";
import { finish } from "../engine/finish.js";

const keys = onlyKey(createSecretKey(randomBytes(32)));
const context = { kind: "segment", indexId: randomBytes(16), name: "a" } as const;
/** Small and large, one of them in pieces, one of them empty. */
const blocks = [[10], [0], [300_000, 70, 1_200_000], [5000], [2_000_000], [1]].map((lengths) =>
  lengths.map((length) => randomBytes(length)),
);

/** The object, and the sealed lengths of its blocks. */
function sealed(expectedBytes: number) {
  const parts = new SealedParts(keys, context, expectedBytes);
  const lengths = blocks.map((block) => parts.seal(...block));
  expect(parts.blocks).toBe(blocks.length);
  return { bytes: finish(parts.join()), lengths };
}

test("an object is the same blocks whether it is as long as expected, shorter or longer", () => {
  const whole = sealed(2 ** 23).bytes.length;
  for (const expected of [0, headerBytes, 1000, 1_000_000, whole - 1, whole, whole + 1]) {
    const { bytes, lengths } = sealed(expected);
    expect(bytes).toHaveLength(whole);
    const opener = new ObjectOpener(keys, context, bytes.subarray(0, headerBytes));
    let at = headerBytes;
    blocks.forEach((block, number) => {
      const plaintext = opener.open(number, bytes.subarray(at, at + lengths[number]));
      expect(Buffer.compare(plaintext, Buffer.concat(block))).toBe(0);
      at += lengths[number];
    });
    expect(at).toBe(bytes.length);
  }
});
