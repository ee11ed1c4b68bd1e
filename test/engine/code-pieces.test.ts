/** Codes that were encoded in pieces are those that are encoded at once. */

import { describe, expect, test } from "vitest";
import { codecToWrite } from "../../src/engine/scan/choose-codec.js";
import { CoarseQuantizer } from "../../src/engine/lists/coarse-quantizer.js";
import { type CodePiece, joinPieces } from "../../src/engine/codes/code-pieces.js";
import type { Codec } from "../../src/engine/codes/codec.js";
import type { IndexConfig } from "../../src/engine/config.js";
import { allocate, allocatedBytes, free } from "../../src/engine/kernels/memory.js";
import { ModelQuantizer } from "../../src/engine/codes/model-quantizer.js";
import { trainModel } from "../../src/engine/training/train.js";
import { trainQuantizer } from "../../src/engine/training/train-quantizer.js";
import { clustered, sampleOf } from "./data.js";
import { finish, joined } from "./finish.js";

const d = 36;
const n = 32 + 96 + 45;
const list = 1;
const vectors = clustered(400, d, 4, 9);

const configs: [string, IndexConfig][] = [
  ["ivfflat", { type: "ivfflat", metric: "cosine", nLists: 3 }],
  ["ivfflat, float16", { type: "ivfflat", metric: "euclidean", nLists: 3, precision: "float16" }],
  ["ivfflat, int8", { type: "ivfflat", metric: "euclidean", nLists: 3, precision: "int8" }],
  ["ivf", { type: "ivf", metric: "euclidean", nLists: 3 }],
  ["ivfpq, 4 bits", { type: "ivfpq", metric: "euclidean", nLists: 3, pqDim: 9, pqBits: 4 }],
  ["ivfpq, 6 bits", { type: "ivfpq", metric: "cosine", nLists: 3, pqDim: 6, pqBits: 6 }],
];

/** A codec that encodes rows of the lists of a model, or of an index without one. */
function codecOf(config: IndexConfig, isTrained: boolean): { readonly codec: Codec; release(): void } {
  if (!isTrained) {
    return { codec: codecToWrite(config, d, undefined), release: () => undefined };
  }
  const lists = finish(trainModel(sampleOf(vectors, d, config.metric), 3, 3));
  const coded = config.type !== "ivfflat" && {
    ...lists,
    quantizer: finish(trainQuantizer(config, vectors, lists)),
  };
  const model = coded || lists;
  const quantizer = finish(CoarseQuantizer.open(model, config.metric));
  const rowQuantizer = coded ? new ModelQuantizer(config, coded) : undefined;
  return {
    codec: codecToWrite(config, d, { model, quantizer, rowQuantizer }),
    release() {
      quantizer.free();
      rowQuantizer?.free();
    },
  };
}

function encode(codec: Codec, rows: Float32Array): Uint8Array {
  if (codec.kind !== "codes") return Uint8Array.from(joined(codec.encode(rows.slice(), list)));
  return codec.pack(codec.encodeRows(rows, new Uint32Array(rows.length / d).fill(list)));
}

function piecesOf(codec: Codec, counts: readonly number[]): CodePiece[] {
  let first = 0;
  return counts.map((count) => {
    const codes = encode(codec, vectors.subarray(first * d, (first + count) * d));
    first += count;
    return { codes, n: count };
  });
}

describe.each(configs)("%s", (_, config) => {
  test.each([[false], [true]])("(trained: %s) pieces are joined to the codes of all rows", (isTrained) => {
    const { codec, release } = codecOf(config, isTrained);
    const whole = encode(codec, vectors.subarray(0, n * d));
    expect(codec.sections(n).reduce((sum, length) => sum + length, 0)).toBe(codec.codeBytes(n));
    expect(codec.codeBytes(n)).toBe(whole.length);
    expect(joinPieces(piecesOf(codec, [32, 96, 45]), codec.sections)).toEqual(whole);
    release();
  });

  test("rows in pieces are loaded as they are in one", () => {
    const { codec, release } = codecOf(config, true);
    const before = allocatedBytes();
    const rows = [0, 31, 32, 127, 128, n - 1];
    const found = [[n], [32, 96, 45]].map((counts) => {
      const fingerprints = allocate(16 * n);
      const codes = codec.load(piecesOf(codec, counts), fingerprints);
      const gathered = codes.gather(rows);
      codes.free();
      free(fingerprints);
      return { n: codes.n, bytes: codes.bytes, gathered };
    });
    expect(found[1]).toEqual(found[0]);
    expect(found[0].n).toBe(n);
    expect(allocatedBytes()).toBe(before);
    release();
  });
});
