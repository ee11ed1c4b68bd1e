/** Benchmarks read the vectors of a reader. NumPy 2.4 wrote the files of `vectors/`: `numpy.save`, and `tobytes` for `.fvecs`. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const program = "../../bench/search/vector-files.mjs";
const { readVectors } = (await import(program)) as {
  readVectors(file: string): { vectors: Float32Array; dimension: number };
};
const folder = join(dirname(fileURLToPath(import.meta.url)), "vectors");
let copies = "";

beforeAll(() => {
  copies = mkdtempSync(join(tmpdir(), "sealdex-vectors-"));
});
afterAll(() => rmSync(copies, { recursive: true }));

test.each(["float32.npy", "float16.npy", "version-2.npy", "rows.fvecs"])("%s", (name) => {
  const { vectors, dimension } = readVectors(join(folder, name));
  expect(dimension).toBe(4);
  expect([...vectors]).toEqual(Array.from({ length: 12 }, (_, i) => i / 4 - 1));
});

test.each([
  ["float64.npy", "numbers of type <f8: expected float16 or float32"],
  ["columns.npy", "is stored column by column"],
  ["one-dimension.npy", "has the shape (4): expected rows and columns"],
  ["empty.npy", "expected at least one row"],
  ["infinite.npy", "row 1 has Infinity"],
  ["uneven.fvecs", "row 1 has 3 numbers: expected 4"],
])("%s is refused", (name, reason) => {
  const file = join(folder, name);
  expect(() => readVectors(file)).toThrow(`${file}: `);
  expect(() => readVectors(file)).toThrow(reason);
});

/** The first bytes of a file, or all of it and some more, under another name. */
function copied(name: string, from: string, length: number): string {
  const file = join(copies, name);
  const bytes = readFileSync(join(folder, from));
  writeFileSync(file, Buffer.concat([bytes, Buffer.alloc(8)]).subarray(0, length));
  return file;
}

test("a file is refused that ends early, goes on too long, or is of another kind", () => {
  const { length } = readFileSync(join(folder, "float32.npy"));
  const wanted = "bytes of numbers: expected 48";
  expect(() => readVectors(copied("short.npy", "float32.npy", length - 1))).toThrow(`has 47 ${wanted}`);
  expect(() => readVectors(copied("long.npy", "float32.npy", length + 8))).toThrow(`has 56 ${wanted}`);
  expect(() => readVectors(copied("header.npy", "float32.npy", 40))).toThrow("ends within its header");
  expect(() => readVectors(copied("nothing.npy", "float32.npy", 0))).toThrow("use numpy.save");
  expect(() => readVectors(copied("floats.npy", "rows.fvecs", 60))).toThrow("use numpy.save");
  expect(() => readVectors(copied("short.fvecs", "rows.fvecs", 59))).toThrow("expected a multiple of 20");
  expect(() => readVectors(copied("nothing.fvecs", "rows.fvecs", 0))).toThrow("has 0 bytes");
  expect(() => readVectors(copied("floats.f32", "rows.fvecs", 60))).toThrow("ends in .npy or .fvecs");
  expect(() => readVectors(join(copies, "absent.npy"))).toThrow("absent.npy");
});
