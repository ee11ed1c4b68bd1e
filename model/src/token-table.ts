/** The table of token vectors as it is stored: 4-bit components, two to a byte, and a float16 scale per row. */

import { readFileSync } from "node:fs";

export interface TokenTable {
  readonly dimension: number;
  /** Layout (token, dimension), each component from -8 to 7. */
  readonly components: Int8Array;
  /** One per token: what its components are to be multiplied by. */
  readonly scales: Float64Array;
}

interface Tensor {
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** Reads a safetensors file with the tensors `table4` (U8: token, dimension / 2) and `scale` (F16: token). */
export function readTokenTable(path: string): TokenTable {
  const file = readFileSync(path);
  const headerEnd = 8 + Number(file.readBigUInt64LE(0));
  const { table4, scale } = JSON.parse(file.toString("utf8", 8, headerEnd)) as Record<string, Tensor>;
  const bytesOf = ({ data_offsets: [start, end] }: Tensor) =>
    file.subarray(headerEnd + start, headerEnd + end);

  const pairs = bytesOf(table4);
  const components = new Int8Array(2 * pairs.length);
  for (let i = 0; i < pairs.length; i++) {
    // The low half of a byte comes first; both halves are signed.
    components[2 * i] = (pairs[i] << 28) >> 28;
    components[2 * i + 1] = (pairs[i] << 24) >> 28;
  }
  const halves = bytesOf(scale);
  const scales = Float64Array.from({ length: scale.shape[0] }, (_, i) => float16(halves.readUInt16LE(2 * i)));
  return { dimension: 2 * table4.shape[1], components, scales };
}

/** Adds the rows of these tokens, each as often as it is named. Sums are exact, so their order does not count. */
export function addRows(
  { components, scales, dimension }: TokenTable,
  ids: readonly number[],
  sums: Float64Array,
): void {
  let at = 0;
  // Four rows at a time: sums are loaded and stored a quarter as often.
  for (; at + 4 <= ids.length; at += 4) {
    const [a, b, c, d] = [ids[at], ids[at + 1], ids[at + 2], ids[at + 3]];
    const [scaleA, scaleB, scaleC, scaleD] = [scales[a], scales[b], scales[c], scales[d]];
    for (let i = 0; i < dimension; i++) {
      sums[i] +=
        scaleA * components[a * dimension + i] +
        scaleB * components[b * dimension + i] +
        (scaleC * components[c * dimension + i] + scaleD * components[d * dimension + i]);
    }
  }
  for (; at < ids.length; at++) {
    const id = ids[at];
    for (let i = 0; i < dimension; i++) sums[i] += scales[id] * components[id * dimension + i];
  }
}

/** IEEE 754 binary16. Scales are finite and not negative. */
function float16(bits: number): number {
  const exponent = bits >> 10;
  const fraction = bits & 0x3ff;
  return exponent === 0 ? fraction * 2 ** -24 : (0x400 + fraction) * 2 ** (exponent - 25);
}
