/** Active attacks on storage: one or a few random changes of its bytes, names and states. */

import { numberOf } from "../../src/state/commit/object-names.js";
import { blockAttacks } from "./block-attacks.js";
import { type Change, pick, type Random } from "./change.js";
import type { Blobs } from "./world.js";

/** Changes the bytes of one object. */
function edit(make: (bytes: Uint8Array, random: Random) => Uint8Array): Change {
  return (blobs, _world, random) => {
    const key = pick(blobs.keys(), random);
    blobs.set(key, make(blobs.get(key) as Uint8Array, random));
  };
}

/** The same kind of object: in its place it is most likely to pass. */
function kindOf(key: string): string {
  return key.split("/").at(-2) ?? "";
}

function pickAlike(blobs: Blobs, key: string, random: Random): string {
  return (
    pick(
      [...blobs.keys()].filter((other) => kindOf(other) === kindOf(key)),
      random,
    ) ?? key
  );
}

export const attacks: Record<string, Change> = {
  ...blockAttacks,
  "flip a bit": edit((bytes, random) => {
    const made = bytes.slice();
    if (made.length > 0) made[random(made.length)] ^= 1 << random(8);
    return made;
  }),
  "flip a bit of a header": edit((bytes, random) => {
    const made = bytes.slice();
    if (made.length > 0) made[random(Math.min(made.length, 180))] ^= 1 << random(8);
    return made;
  }),
  "overwrite some bytes": edit((bytes, random) => {
    const made = bytes.slice();
    const at = random(made.length + 1);
    for (let i = at; i < Math.min(made.length, at + 1 + random(40)); i++) made[i] = random(256);
    return made;
  }),
  truncate: edit((bytes, random) => bytes.subarray(0, random(bytes.length + 1))),
  extend: edit((bytes, random) => Buffer.concat([bytes, Buffer.alloc(1 + random(100), random(256))])),
  "exchange two ranges of an object": edit((bytes, random) => {
    const made = bytes.slice();
    const length = 1 + random(200);
    const [a, b] = [random(made.length + 1), random(made.length + 1)];
    made.set(bytes.subarray(a, Math.min(a + length, made.length - b + a)), b);
    made.set(bytes.subarray(b, Math.min(b + length, made.length - a + b)), a);
    return made;
  }),
  "delete an object": (blobs, _world, random) => blobs.delete(pick(blobs.keys(), random)),
  "exchange two objects": (blobs, _world, random) => {
    const key = pick(blobs.keys(), random);
    const other = random(3) === 0 ? pick(blobs.keys(), random) : pickAlike(blobs, key, random);
    const [bytes, others] = [blobs.get(key), blobs.get(other)] as [Uint8Array, Uint8Array];
    blobs.set(key, others);
    blobs.set(other, bytes);
  },
  "put one object in the place of another": (blobs, _world, random) => {
    const key = pick(blobs.keys(), random);
    blobs.set(key, blobs.get(pickAlike(blobs, key, random)) as Uint8Array);
  },
  "bring back what an older state had": (blobs, { states }, random) => {
    const [key, bytes] = pick(pick(states, random), random);
    blobs.set(key, bytes);
  },
  "put an object of an older state in the place of another": (blobs, { states }, random) => {
    const [old, bytes] = pick(pick(states, random), random);
    blobs.set(pickAlike(blobs, old, random), bytes);
  },
  "a manifest under another number": (blobs, _world, random) => {
    const manifests = [...blobs.keys()].filter((key) => kindOf(key) === "manifest");
    // A change before this one has removed them all.
    if (manifests.length === 0) return;
    const key = pick(manifests, random);
    const folder = key.slice(0, key.lastIndexOf("/") + 1);
    const version = Math.max(1, numberOf(manifests.sort()[0]) + 2 - random(4));
    const number = String(Number.MAX_SAFE_INTEGER - version).padStart(16, "0");
    blobs.set(folder + number, blobs.get(key) as Uint8Array);
  },
  "an object of another index": (blobs, { foreign }, random) => {
    const [key, bytes] = pick(foreign, random);
    blobs.set(random(2) === 0 ? key : pickAlike(blobs, key, random), bytes);
  },
  "another index of the same name": (blobs, { foreign }) => {
    blobs.clear();
    for (const [key, bytes] of foreign) blobs.set(key, bytes);
  },
  "remove the newest manifests": (blobs, _world, random) => {
    const manifests = [...blobs.keys()].filter((key) => kindOf(key) === "manifest").sort();
    for (const key of manifests.slice(0, 1 + random(manifests.length))) blobs.delete(key);
  },
  "an older state as a whole": (blobs, { states }, random) => {
    const state = pick(states, random);
    blobs.clear();
    for (const [key, bytes] of state) blobs.set(key, bytes);
  },
  "an older state of the records, or of all but the records": (blobs, { states }, random) => {
    const state = pick(states, random);
    const isRecord = (key: string) => key.startsWith("names/");
    const ofRecords = random(2) === 0;
    for (const key of blobs.keys()) if (isRecord(key) === ofRecords) blobs.delete(key);
    for (const [key, bytes] of state) if (isRecord(key) === ofRecords) blobs.set(key, bytes);
  },
};

export const attackNames = Object.keys(attacks);
