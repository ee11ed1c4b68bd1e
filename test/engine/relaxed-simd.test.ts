/** Both builds of the kernels give the same results, bit for bit: an index does not depend on the runtime that built it. */

import { setFlagsFromString } from "node:v8";
import { expect, test } from "vitest";
import { type Kernels, kernelsWasm, relaxedKernelsWasm } from "../../src/engine/kernels/kernels.wasm.js";
import { seededRandom } from "../../src/engine/random.js";

// Node 20 knows the instructions by this flag only.
if (!WebAssembly.validate(Buffer.from(relaxedKernelsWasm, "base64"))) {
  setFlagsFromString("--experimental-wasm-relaxed-simd");
}

const pages = 16;
const [table, codes, sums] = [1024, 65_536, 524_288];

function instance(build: string): { kernels: Kernels; bytes: Uint8Array } {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: 65_536, shared: true });
  const module = new WebAssembly.Module(Buffer.from(build, "base64"));
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  return { kernels: exports as unknown as Kernels, bytes: new Uint8Array(memory.buffer) };
}

test.each([
  ["fastScan", 255, 1],
  ["fastScan", 255, 300],
  ["fastScanSmall", 31, 8],
  ["fastScanSmall", 31, 96],
] as const)("%s of entries up to %d, in %d groups", (kernel, entryMax, groups) => {
  const blocks = 24;
  const random = seededRandom(groups);
  const [plain, relaxed] = [instance(kernelsWasm), instance(relaxedKernelsWasm)];
  for (let round = 0; round < 10; round++) {
    const entries = Uint8Array.from({ length: 16 * groups }, () => Math.floor(random() * (entryMax + 1)));
    const rows = Uint8Array.from({ length: 16 * groups * blocks }, () => Math.floor(random() * 256));
    for (const { kernels, bytes } of [plain, relaxed]) {
      bytes.set(entries, table);
      bytes.set(rows, codes);
      kernels[kernel](codes, table, blocks, groups, sums);
    }
    const [expected, received] = [plain, relaxed].map(({ bytes }) => bytes.slice(sums, sums + 128 * blocks));
    expect(Buffer.compare(received, expected)).toBe(0);
    expect(expected.some((byte) => byte !== 0)).toBe(true);
  }
});

test("the builds differ, and have the same kernels", () => {
  expect(relaxedKernelsWasm).not.toBe(kernelsWasm);
  const names = (build: string) =>
    WebAssembly.Module.exports(new WebAssembly.Module(Buffer.from(build, "base64"))).map(({ name }) => name);
  expect(names(relaxedKernelsWasm)).toEqual(names(kernelsWasm));
});
