/** The rows of a segment to be written: vectors to encode, or row codes that stay as they are. */

import type { Codec } from "../../engine/codes/codec.js";
import type { CoarseQuantizer } from "../../engine/lists/coarse-quantizer.js";
import { rowsOfPiece, type Work } from "../../engine/work.js";
import { firstIndex } from "./row-bits.js";

/** How vectors become codes in lists. Without a quantizer there is one list, 0. */
export interface Encoding {
  readonly codec: Codec;
  readonly quantizer?: CoarseQuantizer;
  /** Whether rows are stored in second lists, too (see engine/second-lists.ts). */
  readonly spills: boolean;
  /** Vectors in list space, see engine/metric.ts. */
  toListSpace(vectors: Float32Array): Float32Array;
}

/** Rows in the order of their lists: `order` holds positions in the batch. */
export interface Grouped {
  readonly order: Uint32Array;
  /** Positions `start` to `end` (exclusive) of `order` belong to `list`. */
  readonly runs: readonly { readonly list: number; readonly start: number; readonly end: number }[];
}

/** The codes of a block of rows, in pieces to be concatenated. */
export interface EncodedBlock {
  readonly codes: readonly Uint8Array[];
  /** No row is farther than this from the centroid of its list, in list space. */
  readonly radius: number;
}

export interface RowSource {
  /** Memory that the rows hold, in bytes. */
  readonly bytes: number;
  /** The list of each row. */
  listsOf(quantizer: CoarseQuantizer): Work<Uint32Array>;
  /** A block of the rows at these positions, all of `list`. */
  encode(positions: Uint32Array, list: number, encoding: Encoding): Work<EncodedBlock>;
  /** The vectors of the rows at these positions, layout (positions, dimension); undefined if they are codes. */
  vectorsAt(positions: Uint32Array): Float32Array | undefined;
}

/** Vectors in parts, layout (rows, dimension) each. */
export interface VectorRows extends RowSource {
  readonly kind: "vectors";
  readonly parts: readonly Float32Array[];
  /** Of each row, if known. */
  readonly lists: Uint32Array | undefined;
  vectorsAt(positions: Uint32Array): Float32Array;
}

/** Row codes, layout (rows, row code), in known lists. */
export interface CodedRows extends RowSource {
  readonly kind: "codes";
  readonly codes: Uint8Array;
  readonly lists: Uint32Array;
}

/** `parts` are kept. `known`: the list of each row, if it is. */
export function vectorRows(
  parts: readonly Float32Array[],
  dimension: number,
  known?: Uint32Array,
): VectorRows {
  const vectors = new VectorParts(parts, dimension);
  return {
    kind: "vectors",
    bytes: vectors.bytes,
    parts,
    lists: known,
    *listsOf(quantizer) {
      if (known !== undefined) return known;
      return yield* quantizer.assignAll(vectors.rows, (first, count) => vectors.range(first, count));
    },
    vectorsAt: (positions) => vectors.gather(positions),
    *encode(positions, list, { codec, quantizer }) {
      if (codec.kind === "codes") {
        const codes = new Uint8Array(positions.length * codec.rowBytes);
        const encodedTogether = rowsOfPiece(4 * dimension, codec.rowCost);
        for (let at = 0; at < positions.length; at += encodedTogether) {
          const piece = vectors.gather(positions.subarray(at, at + encodedTogether));
          const lists = new Uint32Array(piece.length / dimension).fill(list);
          codes.set(yield* codec.encodeRows(piece, lists), at * codec.rowBytes);
          yield;
        }
        return blockOfCodes(codec.pack(codes));
      }
      const gathered = vectors.gather(positions);
      const codes = yield* codec.encode(gathered, list);
      if (quantizer === undefined) return { codes, radius: Infinity };
      return { codes, radius: yield* quantizer.radius(gathered, list) };
    },
  };
}

export function codedRows(codes: Uint8Array, lists: Uint32Array): CodedRows {
  return {
    kind: "codes",
    bytes: codes.byteLength,
    codes,
    lists,
    *listsOf() {
      yield;
      return lists;
    },
    vectorsAt: () => undefined,
    *encode(positions, _list, { codec }) {
      if (codec.kind !== "codes") throw new TypeError("row codes cannot become vectors");
      const chosen = codesAt(codes, codec.rowBytes, positions);
      yield;
      return blockOfCodes(codec.pack(chosen));
    },
  };
}

/** The row codes at these positions, layout (positions, row code). */
export function codesAt(codes: Uint8Array, rowBytes: number, positions: Uint32Array): Uint8Array {
  const chosen = new Uint8Array(positions.length * rowBytes);
  positions.forEach((row, at) => {
    chosen.set(codes.subarray(row * rowBytes, (row + 1) * rowBytes), at * rowBytes);
  });
  return chosen;
}

/** An estimate may be lower than any distance within a radius, so blocks of codes have none. */
function blockOfCodes(block: Uint8Array): EncodedBlock {
  return { codes: [block], radius: Infinity };
}

/** Vectors in several arrays, as if these followed one another: joining them would take as much memory once more. */
class VectorParts {
  readonly rows: number;
  readonly bytes: number;
  readonly #parts: readonly Float32Array[];
  readonly #dimension: number;
  /** Of each part. */
  readonly #firstRows: readonly number[];

  /** `parts`: layout (rows, dimension) each, kept. */
  constructor(parts: readonly Float32Array[], dimension: number) {
    this.#parts = parts;
    this.#dimension = dimension;
    let rows = 0;
    this.#firstRows = parts.map(({ length }) => (rows += length / dimension) - length / dimension);
    this.rows = rows;
    this.bytes = 4 * dimension * rows;
  }

  /** The rows at these positions, layout (positions, dimension). */
  gather(positions: Uint32Array): Float32Array {
    const dimension = this.#dimension;
    const gathered = new Float32Array(positions.length * dimension);
    positions.forEach((position, i) => {
      const part = this.#partOf(position);
      const at = (position - this.#firstRows[part]) * dimension;
      gathered.set(this.#parts[part].subarray(at, at + dimension), i * dimension);
    });
    return gathered;
  }

  /** Up to `count` rows from `first` on, which are not copied if they are in one part. */
  range(first: number, count: number): Float32Array {
    const end = Math.min(first + count, this.rows);
    const part = this.#partOf(first);
    const at = (first - this.#firstRows[part]) * this.#dimension;
    const own = this.#parts[part].subarray(at, at + (end - first) * this.#dimension);
    return own.length === (end - first) * this.#dimension
      ? own
      : this.gather(Uint32Array.from({ length: end - first }, (_, i) => first + i));
  }

  /** The part that holds a row. */
  #partOf(row: number): number {
    return firstIndex(this.#parts.length, (part) => this.#firstRows[part] > row) - 1;
  }
}
