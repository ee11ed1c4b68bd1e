/** ONNX files written field by field: enough of the format for models that are made of a few operators. */

type Field = readonly [number, number | string | Uint8Array];

/** ONNX's numbers of element types. */
export const float = 1;
export const int64 = 7;

export interface Value {
  readonly name: string;
  readonly type: number;
  /** A name is a size that is known when the model runs. */
  readonly shape: readonly (number | string)[];
}

export interface Node {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly output: string;
  /** Integers by name. */
  readonly attributes?: Readonly<Record<string, number>>;
}

export interface Graph {
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  readonly nodes: readonly Node[];
  /** Constants by name, float32 or int64, with their shapes. */
  readonly constants: Readonly<Record<string, readonly [Float32Array | BigInt64Array, readonly number[]]>>;
}

export function encodeOnnx({ inputs, outputs, nodes, constants }: Graph): Uint8Array {
  const graph = message([
    ...nodes.map((node): Field => [1, encodeNode(node)]),
    [2, "graph"],
    ...Object.entries(constants).map(([name, [data, shape]]): Field => [
      5,
      encodeConstant(name, data, shape),
    ]),
    ...inputs.map((value): Field => [11, encodeValue(value)]),
    ...outputs.map((value): Field => [12, encodeValue(value)]),
  ]);
  return message([
    [1, 8],
    [7, graph],
    [
      8,
      message([
        [1, ""],
        [2, 13],
      ]),
    ],
  ]);
}

function encodeNode({ type, inputs, output, attributes = {} }: Node): Uint8Array {
  const integer = 2;
  return message([
    ...inputs.map((name): Field => [1, name]),
    [2, output],
    [3, output],
    [4, type],
    ...Object.entries(attributes).map(([name, value]): Field => [
      5,
      message([
        [1, name],
        [3, value],
        [20, integer],
      ]),
    ]),
  ]);
}

function encodeConstant(
  name: string,
  data: Float32Array | BigInt64Array,
  shape: readonly number[],
): Uint8Array {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return message([
    ...shape.map((size): Field => [1, size]),
    [2, data instanceof Float32Array ? float : int64],
    [8, name],
    [9, bytes],
  ]);
}

function encodeValue({ name, type, shape }: Value): Uint8Array {
  const sizes = shape.map((size): Field => [1, message([[typeof size === "number" ? 1 : 2, size]])]);
  const tensor = message([
    [1, type],
    [2, message(sizes)],
  ]);
  return message([
    [1, name],
    [2, message([[1, tensor]])],
  ]);
}

/** A protocol buffer: numbers as varints, texts and bytes with their length. */
function message(fields: readonly Field[]): Uint8Array {
  return Buffer.concat(
    fields.flatMap(([tag, value]) => {
      if (typeof value === "number") return [varint(tag << 3), varint(value)];
      const bytes = typeof value === "string" ? Buffer.from(value) : value;
      return [varint((tag << 3) | 2), varint(bytes.length), bytes];
    }),
  );
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Uint8Array.from([...bytes, rest]);
}
