// Vectors of a file: `.npy` as NumPy writes a two-dimensional array (float16 or float32, row by row), or `.fvecs` (per row its dimension
// as int32, then that many float32).

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { extname } from "node:path";

/** A read returns at most 2 GiB. */
const bytesTogether = 2 ** 30;

/** { vectors, dimension }: layout (n, dimension), float32. */
export function readVectors(file) {
  const read = { ".npy": readNpy, ".fvecs": readFvecs }[extname(file)];
  if (read === undefined) throw new Error(`${file}: expected a name that ends in .npy or .fvecs`);
  const descriptor = openSync(file, "r");
  try {
    const { vectors, dimension } = read(descriptor, fstatSync(descriptor).size);
    if (vectors.length === 0) throw new Error("expected at least one row of at least one number");
    const wrong = vectors.findIndex((value) => !Number.isFinite(value));
    if (wrong >= 0) throw new Error(`row ${Math.floor(wrong / dimension)} has ${vectors[wrong]}`);
    return { vectors, dimension };
  } catch (error) {
    throw new Error(`${file}: ${error.message}`, { cause: error });
  } finally {
    closeSync(descriptor);
  }
}

/** Format 1.0 to 3.0: magic, version, length of the header, a header that is a dictionary of Python, the numbers. */
function readNpy(descriptor, size) {
  const start = bytesOf(descriptor, 0, Math.min(size, 12));
  if (start.length < 12 || start.toString("latin1", 0, 6) !== "\x93NUMPY") {
    throw new Error("does not start as NumPy writes it: use numpy.save");
  }
  const long = start[6] > 1;
  const from = (long ? 12 : 10) + (long ? start.readUInt32LE(8) : start.readUInt16LE(8));
  if (from > size) throw new Error("ends within its header");
  const header = bytesOf(descriptor, 0, from).toString("latin1");
  const type = /'descr': '([^']*)'/.exec(header)?.[1];
  const Numbers = { "<f2": Uint16Array, "<f4": Float32Array }[type];
  if (Numbers === undefined) {
    throw new Error(`has numbers of type ${type}: expected float16 or float32, as of x.astype("float32")`);
  }
  if (!header.includes("'fortran_order': False")) {
    throw new Error("is stored column by column: save numpy.ascontiguousarray(x)");
  }
  const shape = /'shape': \(([^)]*)\)/.exec(header)?.[1].match(/\d+/g)?.map(Number) ?? [];
  if (shape.length !== 2) throw new Error(`has the shape (${shape.join(", ")}): expected rows and columns`);
  const [n, dimension] = shape;
  const wanted = n * dimension * Numbers.BYTES_PER_ELEMENT;
  if (size - from !== wanted) throw new Error(`has ${size - from} bytes of numbers: expected ${wanted}`);
  const { buffer, byteOffset } = bytesOf(descriptor, from, wanted);
  const numbers = new Numbers(buffer, byteOffset, n * dimension);
  return { vectors: Numbers === Uint16Array ? fromFloat16(numbers) : numbers, dimension };
}

function readFvecs(descriptor, size) {
  const dimension = size < 4 ? 0 : bytesOf(descriptor, 0, 4).readInt32LE();
  const rowBytes = 4 + 4 * dimension;
  if (dimension < 1 || size % rowBytes !== 0) {
    throw new Error(
      `has ${size} bytes: expected a multiple of ${rowBytes}, as its first row has ${dimension} numbers`,
    );
  }
  const { buffer, byteOffset } = bytesOf(descriptor, 0, size);
  const n = size / rowBytes;
  const [dimensions, floats] = [Int32Array, Float32Array].map(
    (Type) => new Type(buffer, byteOffset, size / 4),
  );
  const vectors = new Float32Array(n * dimension);
  for (let row = 0; row < n; row++) {
    const at = row * (dimension + 1);
    if (dimensions[at] !== dimension) {
      throw new Error(
        `row ${row} has ${dimensions[at]} numbers: expected ${dimension}, as the first row has`,
      );
    }
    vectors.set(floats.subarray(at + 1, at + 1 + dimension), row * dimension);
  }
  return { vectors, dimension };
}

/** A part of a file, aligned for any typed array. */
function bytesOf(descriptor, from, length) {
  const bytes = Buffer.from(new ArrayBuffer(length));
  for (let at = 0; at < length;) {
    const read = readSync(descriptor, bytes, at, Math.min(bytesTogether, length - at), from + at);
    if (read === 0) throw new Error("ended while it was read");
    at += read;
  }
  return bytes;
}

/** Float16Array is there from Node.js 24 on. */
export function fromFloat16(halves) {
  const values = Float32Array.from({ length: 2 ** 16 }, (_, bits) => {
    const exponent = (bits >> 10) & 31;
    const fraction = (bits & 1023) / 1024;
    const size = exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15);
    const magnitude = exponent < 31 ? size : fraction === 0 ? Infinity : NaN;
    return bits >> 15 ? -magnitude : magnitude;
  });
  return Float32Array.from(halves, (bits) => values[bits]);
}
