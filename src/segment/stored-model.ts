/** Models as bytes. FORMAT.md §6. */

import { type QuantizerModel, listCount, type Model } from "../engine/model.js";
import { stepLength } from "../engine/recall-curves.js";
import type { Work } from "../engine/work.js";
import { SealdexError } from "../errors.js";
import { bytesOf, decodeCentroids, encodeCentroids } from "./stored-centroids.js";

/**
 * What follows the centroids: nothing, a quantizer whose reference centroids are the centroids, one with reference centroids of its own, or
 * the recall curves of rows in two lists.
 */
const kinds = { plain: 1, coded: 2, regrouped: 3, spilled: 4 } as const;
const headWords = 7;
const quantizerWords = 3;

/** Yields between pieces of work of a few milliseconds. */
export function* encodeModel(model: Model): Work<Uint8Array> {
  const { dimension, spreads, curves, spilledCurves, probeLimits, rotationSeed, centroids, quantizer } =
    model;
  const ownReferences = quantizer !== undefined && quantizer.references !== centroids;
  const unquantized = spilledCurves === undefined ? kinds.plain : kinds.spilled;
  const kind = quantizer === undefined ? unquantized : ownReferences ? kinds.regrouped : kinds.coded;
  const { depths, values } = curves;
  const counts = [probeLimits.length, depths.length, values.length];
  const head = words(kind, dimension, listCount(model), ...counts, rotationSeed);
  const parts = [
    head,
    ...[probeLimits, depths, values, spreads].map(bytesOf),
    ...(yield* encodeCentroids(centroids, dimension)),
  ];
  if (kind === kinds.spilled && spilledCurves !== undefined) parts.push(bytesOf(spilledCurves.values));
  if (quantizer !== undefined) {
    const { rotationSeed: quantizerSeed, origin, references, codebooks } = quantizer;
    const lengths = [references.length / dimension, (codebooks?.codewords.length ?? 0) / dimension];
    parts.push(words(quantizerSeed, ...lengths), bytesOf(origin));
    if (ownReferences) parts.push(...(yield* encodeCentroids(references, dimension)));
    if (codebooks !== undefined) parts.push(bytesOf(codebooks.order), bytesOf(codebooks.codewords));
  }
  return Buffer.concat(parts);
}

/** `bytes` are authenticated; a kind that is not known was written by a newer version. */
export function decodeModel(bytes: Uint8Array): Model {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (length: number) => {
    if (length > bytes.length - at) {
      throw new SealdexError("corrupt", "stored model: it is shorter than its counts say");
    }
    at += length;
    return bytes.subarray(at - length, at);
  };
  const word = () => {
    take(4);
    return view.getUint32(at - 4, true);
  };
  const floats = (length: number) => new Float32Array(new Uint8Array(take(4 * length)).buffer);
  const [kind, dimension, lists, limits, depths, values, rotationSeed] = Array.from(
    { length: headWords },
    word,
  );
  if (kind < kinds.plain || kind > kinds.spilled) {
    throw new SealdexError(
      "not_supported",
      `stored model: its kind is ${kind}, which this version cannot read`,
    );
  }
  const probeLimits = floats(limits);
  if (depths === 0 || values !== stepLength * depths) {
    throw new SealdexError("corrupt", "stored model: its recall curves have not the values of their depths");
  }
  const curves = { depths: floats(depths), values: floats(values) };
  const spreads = floats(lists);
  const centroids = decodeCentroids(take, lists, dimension);
  const model = { dimension, centroids, spreads, curves, probeLimits, rotationSeed };
  if (kind === kinds.plain) return model;
  if (kind === kinds.spilled) {
    return { ...model, spilledCurves: { depths: curves.depths, values: floats(values) } };
  }
  const [quantizerSeed, referenceCount, codewordCount] = Array.from({ length: quantizerWords }, word);
  const origin = floats(dimension);
  const references = kind === kinds.regrouped ? decodeCentroids(take, referenceCount, dimension) : centroids;
  const quantizer: QuantizerModel = { rotationSeed: quantizerSeed, origin, references };
  if (codewordCount === 0) return { ...model, quantizer };
  const order = Uint32Array.from({ length: dimension }, word);
  return {
    ...model,
    quantizer: { ...quantizer, codebooks: { order, codewords: floats(codewordCount * dimension) } },
  };
}

function words(...values: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeUInt32LE(value, 4 * i));
  return bytes;
}
