/**
 * The linear memory of the kernels, at most 4 GiB, created at first use. Everything that a kernel reads or writes is allocated
 * here and identified by its byte offset, its address.
 *
 * The memory is shared with other threads, which run kernels on the addresses they receive; only this thread allocates. Views are
 * cheap: create them when needed, and keep addresses. Values that leave the engine (to be sealed, decoded, returned) are copies, since
 * many functions of Node.js refuse shared memory, and freed memory is used again. Keys are never here.
 */

import { SealdexError } from "../../errors.js";
import { alignment, Allocator, FreedRanges } from "./allocator.js";

const pageBytes = 65_536;
const pagesInitial = 64;
const pagesMax = 65_536;
/** The memory doubles until a step is this large: 256 MiB. Untouched pages cost address space only. */
const stepPagesMax = 4_096;

interface LinearMemory {
  readonly wasm: WebAssembly.Memory;
  readonly allocator: Allocator;
  readonly freed: FreedRanges;
  /** `wasm.buffer`, which is slow to get; replaced by a longer one of the same bytes when the memory grows. */
  buffer: ArrayBufferLike;
  /** Views of all of it, replaced with it. */
  words: Uint32Array;
  floats: Float32Array;
  doubles: Float64Array;
}

let created: LinearMemory | undefined;

function linearMemory(): LinearMemory {
  return (created ??= create());
}

function create(): LinearMemory {
  const wasm = new WebAssembly.Memory({ initial: pagesInitial, maximum: pagesMax, shared: true });
  // Offset 0 is never allocated, so it can mean "none".
  const allocator = new Allocator(alignment, pagesInitial * pageBytes, grow);
  const freed = new FreedRanges(allocator, (offset, bytes) => {
    // Twice as fast as by bytes.
    doublesAt(offset, bytes / 8).fill(0);
  });
  return { wasm, allocator, freed, ...viewsOf(wasm) };
}

function viewsOf({
  buffer,
}: WebAssembly.Memory): Pick<LinearMemory, "buffer" | "words" | "floats" | "doubles"> {
  return {
    buffer,
    words: new Uint32Array(buffer),
    floats: new Float32Array(buffer),
    doubles: new Float64Array(buffer),
  };
}

function grow(bytesMin: number): number {
  const memory = linearMemory();
  const pages = memory.buffer.byteLength / pageBytes;
  const needed = Math.ceil(bytesMin / pageBytes);
  if (pages + needed > pagesMax) {
    const held = memory.allocator.allocatedBytes;
    throw new SealdexError(
      "internal",
      `kernel memory: the limit of 4 GiB is exhausted; ${held} bytes are in use, ${bytesMin} more are needed`,
    );
  }
  const step = Math.min(Math.max(needed, Math.min(pages, stepPagesMax)), pagesMax - pages);
  try {
    memory.wasm.grow(step);
  } catch (cause) {
    const message = `kernel memory: the system refused ${step * pageBytes} bytes beyond ${pages * pageBytes}`;
    throw new SealdexError("internal", message, { cause });
  }
  Object.assign(memory, viewsOf(memory.wasm));
  return memory.buffer.byteLength;
}

/** The memory itself, for instantiating kernels on it. */
export function wasmMemory(): WebAssembly.Memory {
  return linearMemory().wasm;
}

/**
 * The offset of `bytes` new bytes, a multiple of 256 and never 0. Throws `internal` when 4 GiB are exhausted.
 */
export function allocate(bytes: number): number {
  const { allocator, freed } = linearMemory();
  if (freed.waitingBytes > 0) freed.makeRoom(bytes);
  return allocator.allocate(bytes);
}

/** Frees and clears an allocation of `allocate`. Throws `internal` for any other offset. */
export function free(offset: number): void {
  linearMemory().freed.add(offset);
}

/** Frees memory that one query needed without clearing it: the next query overwrites it, and clearing takes a tenth of a short query. */
export function freeScratch(offset: number): void {
  linearMemory().allocator.free(offset);
}

/**
 * Keeps memory that is freed as it is, for kernels that read it on other threads: call the result when they are done. Undefined if 64 MiB wait already:
 * then make the calls on this thread.
 */
export function holdFreed(): (() => void) | undefined {
  return linearMemory().freed.hold();
}

/** Bytes allocated and not freed, each allocation rounded up to 256. */
export function allocatedBytes(): number {
  const { allocator, freed } = linearMemory();
  return allocator.allocatedBytes - freed.waitingBytes;
}

/** `length` bytes from `offset`. */
export function bytesAt(offset: number, length: number): Uint8Array {
  return new Uint8Array(linearMemory().buffer, offset, length);
}

/** `length` float32 from `offset`, a multiple of 4. */
export function floatsAt(offset: number, length: number): Float32Array {
  return new Float32Array(linearMemory().buffer, offset, length);
}

/** `length` float64 from `offset`, a multiple of 8. */
export function doublesAt(offset: number, length: number): Float64Array {
  return new Float64Array(linearMemory().buffer, offset, length);
}

/** All of the memory as uint32, for writing structs: word i lies at offset 4 * i. */
export function allWords(): Uint32Array {
  return linearMemory().words;
}

/** All of the memory as float32: value i lies at offset 4 * i. */
export function allFloats(): Float32Array {
  return linearMemory().floats;
}

/** All of the memory as float64: value i lies at offset 8 * i. */
export function allDoubles(): Float64Array {
  return linearMemory().doubles;
}

/** The uint32 at `offset`, a multiple of 4. */
export function wordAt(offset: number): number {
  return linearMemory().words[offset >>> 2];
}

/** The float64 at `offset`, a multiple of 8. */
export function doubleAt(offset: number): number {
  return linearMemory().doubles[offset >>> 3];
}

/** Writes uint32 fields of the struct at `at`; `layout` has their byte offsets (see kernels.wasm.ts). */
export function writeWords<Fields extends Readonly<Record<string, number>>>(
  at: number,
  layout: Readonly<Record<keyof Fields, number>>,
  fields: Fields,
): void {
  const { words } = linearMemory();
  for (const field in fields) {
    // A polluted `Object.prototype` has fields of which no layout knows.
    if (Object.hasOwn(fields, field)) words[(at + layout[field]) >>> 2] = fields[field];
  }
}

/** `length` uint32 from `offset`, a multiple of 4. */
export function wordsAt(offset: number, length: number): Uint32Array {
  return new Uint32Array(linearMemory().buffer, offset, length);
}
