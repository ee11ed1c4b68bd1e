/** Which segments can shadow rows of others: the newer ones of the same namespace. */

import type { SegmentRef } from "../commit/manifest.js";

interface Shadows {
  readonly ref: Pick<SegmentRef, "sequence" | "namespace">;
}

export class Shadowing<S extends Shadows> {
  /** Those that can shadow rows of another, newest first. */
  readonly newest: readonly S[];
  /** Per namespace its own among them, newest first, and where they are. */
  readonly #positions = new Map<string | undefined, { sequence: number; position: number }[]>();

  /** `namespaces`: the segments of each, ascending by sequence. */
  constructor(namespaces: readonly (readonly S[])[]) {
    this.newest = namespaces
      .flatMap((group) => group.filter(({ ref }) => ref.sequence > group[0].ref.sequence))
      .sort((a, b) => b.ref.sequence - a.ref.sequence);
    for (const [position, { ref }] of this.newest.entries()) {
      const own = this.#positions.get(ref.namespace) ?? [];
      this.#positions.set(ref.namespace, own);
      own.push({ sequence: ref.sequence, position });
    }
  }

  /** How many of `newest` it takes to have all that can shadow rows of a segment. */
  neededFor({ ref }: Shadows): number {
    const own = this.#positions.get(ref.namespace) ?? [];
    const last = own.findLast(({ sequence }) => sequence > ref.sequence);
    return last === undefined ? 0 : last.position + 1;
  }
}
