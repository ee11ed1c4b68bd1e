/** Random changes of stored bytes, which a seed repeats. */

import type { World } from "./world.js";

/** Integers from 0 on, below a limit. */
export type Random = (below: number) => number;

export type Change = (blobs: Map<string, Uint8Array>, world: World, random: Random) => void;

/** Reproducible: splitmix32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) % below;
  };
}

export function pick<T>(from: Iterable<T>, random: Random): T {
  const all = [...from];
  return all[random(all.length)];
}
