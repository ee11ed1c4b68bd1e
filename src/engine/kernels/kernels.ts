/**
 * The WebAssembly SIMD kernels, compiled synchronously at first use. assembly/ has their source; their signatures and the
 * layouts of the structs they take are generated from it, in kernels.wasm.ts.
 *
 * Parameters are byte offsets into the memory of memory.ts, then counts; nothing is checked.
 */

import { type Kernels, kernelsWasm, relaxedKernelsWasm } from "./kernels.wasm.js";
import { wasmMemory } from "./memory.js";

interface CallOf<Kernel extends keyof Kernels> {
  readonly kernel: Kernel;
  readonly args: Readonly<Parameters<Kernels[Kernel]>>;
  /** Multiply-adds, roughly: small calls are not worth sending to another thread. Absent: large enough. */
  readonly cost?: number;
}

/**
 * One call of a kernel, as data: any thread that shares the memory can make it. The returned value is dropped, so the
 * results are the values it writes.
 */
export type KernelCall = { readonly [Kernel in keyof Kernels]: CallOf<Kernel> }[keyof Kernels];

let compiled: WebAssembly.Module | undefined;
let instantiated: Kernels | undefined;

/** The compiled kernels, to be instantiated on `wasmMemory()` as `env.memory`. Both builds give the same results, bit for bit. */
export function kernelModule(): WebAssembly.Module {
  return (compiled ??= compileFirst([relaxedKernelsWasm, kernelsWasm]));
}

/** The first of the builds that this runtime knows all instructions of. */
function compileFirst(builds: readonly string[]): WebAssembly.Module {
  const binaries = builds.map((build) => Buffer.from(build, "base64"));
  const known = binaries.findIndex((binary) => WebAssembly.validate(binary));
  return new WebAssembly.Module(binaries[Math.max(0, known)]);
}

/** The kernels on this thread. */
export function kernels(): Kernels {
  return (instantiated ??= instantiate());
}

function instantiate(): Kernels {
  const { exports } = new WebAssembly.Instance(kernelModule(), { env: { memory: wasmMemory() } });
  return exports as unknown as Kernels;
}

/** Makes the call on this thread. */
export function callKernel({ kernel, args }: KernelCall): void {
  (kernels()[kernel] as (...values: readonly number[]) => unknown)(...args);
}
