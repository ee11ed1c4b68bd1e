/** Which rows a filter accepts, by the lists and blocks of a list block table, for searches in one kernel call. */

import type { ListSet } from "../lists/coarse-quantizer.js";
import { blockMatchesLayout, listMatchesLayout, matchTableLayout } from "../kernels/kernels.wasm.js";
import { allFloats, allocate, allWords, free, wordsAt, writeWords } from "../kernels/memory.js";

/** The matches of a filter. Bits are those of the rows of a segment; several blocks may have the same ones. */
export interface MatchesOf {
  readonly lists: readonly {
    readonly rows: number;
    readonly matches: number;
    /** The mean squared distance of its rows from the centroid. */
    readonly spread: number;
  }[];
  /** In the order of their numbers; undefined: all rows are accepted. */
  readonly blocks?: readonly {
    /** Undefined: none of the block's rows is accepted. */
    readonly accepted: Uint32Array | undefined;
    /** The bit of the block's first row. */
    readonly firstBit: number;
  }[];
  /** The lists that have a match; undefined: all of them. */
  readonly among?: ListSet;
  /** For each spilled segment of the list block table, in its order. */
  readonly spilled?: readonly (Uint32Array | undefined)[];
}

/** Holds kernel memory: call `free` when done. */
export class MatchTable {
  /** The address of the struct that kernels take. */
  readonly address: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** How many lists have a match. */
  readonly count: number;
  /** Rows of a list, on average. */
  readonly rowsPerList: number;

  readonly #blocks: number;

  constructor({ lists, blocks = [], among, spilled = [] }: MatchesOf) {
    const distinct = new Set([...blocks.map(({ accepted }) => accepted), ...spilled]);
    distinct.delete(undefined);
    const bits = [...distinct] as Uint32Array[];
    const listWords = among?.bits ?? [];
    const words = bits.reduce((sum, { length }) => sum + length, listWords.length + spilled.length);
    const structs = listMatchesLayout.bytes * lists.length + blockMatchesLayout.bytes * blocks.length;
    this.count = among?.count ?? lists.length;
    this.rowsPerList = lists.reduce((sum, { rows }) => sum + rows, 0) / lists.length;
    this.bytes = matchTableLayout.bytes + structs + 4 * words;
    this.address = allocate(this.bytes);
    const listsAt = this.address + matchTableLayout.bytes;
    const blocksAt = listsAt + listMatchesLayout.bytes * lists.length;
    this.#blocks = blocks.length === 0 ? 0 : blocksAt;
    let end = blocksAt + blockMatchesLayout.bytes * blocks.length;
    const place = (values: ArrayLike<number>) => {
      const at = end;
      wordsAt(at, values.length).set(values);
      end += 4 * values.length;
      return at;
    };
    const placed = new Map<Uint32Array | undefined, number>(bits.map((each) => [each, place(each)]));
    const addressOf = (accepted: Uint32Array | undefined) => placed.get(accepted) ?? 0;
    writeWords(this.address, matchTableLayout, {
      lists: listsAt,
      blocks: this.#blocks,
      among: among === undefined ? 0 : place(listWords),
      spilled: place(spilled.map(addressOf)),
    });
    const all = allWords();
    const floats = allFloats();
    lists.forEach(({ rows, matches, spread }, list) => {
      const at = listsAt + listMatchesLayout.bytes * list;
      all[(at + listMatchesLayout.rows) >>> 2] = rows;
      all[(at + listMatchesLayout.matches) >>> 2] = matches;
      floats[(at + listMatchesLayout.spread) >>> 2] = spread;
    });
    blocks.forEach(({ accepted, firstBit }, number) => {
      const at = blocksAt + blockMatchesLayout.bytes * number;
      all[(at + blockMatchesLayout.accepted) >>> 2] = addressOf(accepted);
      all[(at + blockMatchesLayout.firstBit) >>> 2] = firstBit;
    });
  }

  /** The address of the bits of a block's segment, 0 if all of its rows are accepted, and the bit of its first row. */
  acceptedIn(number: number): { readonly accepted: number; readonly firstBit: number } {
    if (this.#blocks === 0) return { accepted: 0, firstBit: 0 };
    const at = this.#blocks + blockMatchesLayout.bytes * number;
    const words = allWords();
    return {
      accepted: words[(at + blockMatchesLayout.accepted) >>> 2],
      firstBit: words[(at + blockMatchesLayout.firstBit) >>> 2],
    };
  }

  free(): void {
    free(this.address);
  }
}
