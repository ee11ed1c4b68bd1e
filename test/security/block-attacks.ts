/** Attacks at the true boundaries of sealed blocks, which random ranges of bytes hardly ever meet. */

import { type Change, pick, type Random } from "./change.js";
import type { SealedBlock } from "./sealed-blocks.js";
import type { World } from "./world.js";

/** The segment with other bytes in the places of some blocks; it gets longer or shorter if they are. */
export function withBlocks(bytes: Uint8Array, replaced: ReadonlyMap<SealedBlock, Uint8Array>): Uint8Array {
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const [{ offset, length }, by] of [...replaced].sort(([a], [b]) => a.offset - b.offset)) {
    pieces.push(bytes.subarray(at, offset), by);
    at = offset + length;
  }
  return Buffer.concat([...pieces, bytes.subarray(at)]);
}

export function blockOf(bytes: Uint8Array, { offset, length }: SealedBlock): Uint8Array {
  return bytes.subarray(offset, offset + length);
}

/** Of the same length, which is most likely to pass, or any other. */
function pickOther(blocks: readonly SealedBlock[], than: SealedBlock, random: Random): SealedBlock {
  const others = blocks.filter((block) => block !== than);
  const alike = others.filter(({ length }) => length === than.length);
  return pick(alike.length > 0 && random(2) === 0 ? alike : others, random);
}

/** Mostly of this section, if there are any. */
function pickOfSection(blocks: readonly SealedBlock[], wanted: string, random: Random): SealedBlock {
  const ofSection = blocks.filter(({ section }) => section === wanted);
  return pick(ofSection.length > 0 && random(4) > 0 ? ofSection : blocks, random);
}

/** The bytes at a block's place afterwards: all of another one, or as much of it as fits. */
function fitting(by: Uint8Array, present: Uint8Array, random: Random): Uint8Array {
  if (by.length === present.length || random(2) === 0) return by;
  return Buffer.concat([by.subarray(0, present.length), present.subarray(by.length)]);
}

/** Changes one of the present segments, if there are any. */
function segmentChange(
  make: (bytes: Uint8Array, blocks: readonly SealedBlock[], random: Random, world: World) => Uint8Array,
): Change {
  return (blobs, world, random) => {
    const keys = [...blobs.keys()].filter((key) => world.blocks.has(key));
    if (keys.length === 0) return;
    const key = pick(keys, random);
    const blocks = world.blocks.get(key) as readonly SealedBlock[];
    blobs.set(key, make(blobs.get(key) as Uint8Array, blocks, random, world));
  };
}

function exchanged(bytes: Uint8Array, a: SealedBlock, b: SealedBlock): Uint8Array {
  return withBlocks(
    bytes,
    new Map([
      [a, blockOf(bytes, b)],
      [b, blockOf(bytes, a)],
    ]),
  );
}

export const blockAttacks: Record<string, Change> = {
  "exchange two blocks of a segment": segmentChange((bytes, blocks, random) => {
    const block = pick(blocks, random);
    return exchanged(bytes, block, pickOther(blocks, block, random));
  }),
  "exchange two blocks of the same kind": segmentChange((bytes, blocks, random) => {
    const pairs = blocks.flatMap((a, i) =>
      blocks.slice(i + 1).flatMap((b) => (a.section === b.section ? [[a, b] as const] : [])),
    );
    return pairs.length === 0 ? bytes : exchanged(bytes, ...pick(pairs, random));
  }),
  "repeat a block in the place of another": segmentChange((bytes, blocks, random) => {
    const block = pick(blocks, random);
    const by = blockOf(bytes, pickOther(blocks, block, random));
    return withBlocks(bytes, new Map([[block, fitting(by, blockOf(bytes, block), random)]]));
  }),
  "leave out a block, or have one twice": segmentChange((bytes, blocks, random) => {
    const block = pick(blocks, random);
    const own = blockOf(bytes, block);
    const by = random(2) === 0 ? own.subarray(0, 0) : Buffer.concat([own, own]);
    return withBlocks(bytes, new Map([[block, by]]));
  }),
  "put a block of another segment in the place of one": segmentChange((bytes, blocks, random, world) => {
    const { states, foreign } = world;
    const [key, others] = pick(world.blocks, random);
    const source = [...states, foreign].find((state) => state.has(key))?.get(key) as Uint8Array;
    const block = pick(blocks, random);
    const other = pickOfSection(others, block.section, random);
    const by = fitting(blockOf(source, other), blockOf(bytes, block), random);
    return withBlocks(bytes, new Map([[block, by]]));
  }),
  "exchange blocks of two segments": (blobs, world, random) => {
    const keys = [...blobs.keys()].filter((key) => world.blocks.has(key));
    if (keys.length < 2) return;
    const one = pick(keys, random);
    const two = pick(
      keys.filter((key) => key !== one),
      random,
    );
    const [a, b] = [one, two].map((key) => blobs.get(key) as Uint8Array);
    const block = pick(world.blocks.get(one) as readonly SealedBlock[], random);
    const others = world.blocks.get(two) as readonly SealedBlock[];
    const other = pickOfSection(others, block.section, random);
    const [own, by] = [blockOf(a, block), blockOf(b, other)];
    blobs.set(one, withBlocks(a, new Map([[block, fitting(by, own, random)]])));
    blobs.set(two, withBlocks(b, new Map([[other, fitting(own, by, random)]])));
  },
};
