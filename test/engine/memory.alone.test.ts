import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SealdexError } from "../../src/errors.js";
import { Allocator } from "../../src/engine/kernels/allocator.js";
import { kernels } from "../../src/engine/kernels/kernels.js";
import {
  allocate,
  allocatedBytes,
  bytesAt,
  doublesAt,
  floatsAt,
  free,
  holdFreed,
  wordsAt,
} from "../../src/engine/kernels/memory.js";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

describe("allocator", () => {
  const size = fc.oneof(
    fc.constantFrom(0, 256, 512, 1024),
    fc.integer({ min: 1, max: 300 }),
    fc.integer({ min: 4 * 2 ** 10, max: 512 * 2 ** 10 }),
  );
  const step = fc.oneof(fc.record({ allocate: size }), fc.record({ free: fc.nat() }));

  test("gives aligned ranges that do not overlap, and joins everything once it is freed", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.infiniteStream(fc.nat()), (steps, choices) => {
        let end = MiB;
        let mayGrow = true;
        const allocator = new Allocator(256, end, (bytesMin) => {
          expect(mayGrow).toBe(true);
          return (end += Math.ceil(bytesMin / 65_536) * 65_536);
        });
        const live: { offset: number; bytes: number }[] = [];
        const release = (choice: number) => {
          const [range] = live.splice(choice % live.length, 1);
          allocator.free(range.offset);
          expect(() => allocator.free(range.offset)).toThrow(SealdexError);
        };
        for (const action of steps) {
          if ("allocate" in action) {
            live.push({ offset: allocator.allocate(action.allocate), bytes: action.allocate });
          } else if (live.length > 0) {
            release(action.free);
          }
        }

        let previousEnd = 256;
        let rounded = 0;
        for (const { offset, bytes } of live.toSorted((a, b) => a.offset - b.offset)) {
          expect(offset % 256).toBe(0);
          expect(offset).toBeGreaterThanOrEqual(previousEnd);
          previousEnd = offset + Math.max(256, Math.ceil(bytes / 256) * 256);
          rounded += previousEnd - offset;
        }
        expect(previousEnd).toBeLessThanOrEqual(end);
        expect(allocator.allocatedBytes).toBe(rounded);

        for (const choice of choices) {
          if (live.length === 0) break;
          release(choice);
        }
        expect(allocator.allocatedBytes).toBe(0);
        mayGrow = false;
        expect(allocator.allocate(end - 256)).toBe(256);
      }),
      { numRuns: 300 },
    );
  });

  test("finds thousands of freed ranges again, and joins them", () => {
    const allocator = new Allocator(0, 4_000 * 1024, () => expect.unreachable());
    const offsets = Array.from({ length: 4_000 }, () => allocator.allocate(1000));
    const even = offsets.filter((_, i) => i % 2 === 0);
    even.forEach((offset) => allocator.free(offset));
    expect(even.map(() => allocator.allocate(1000))).toEqual(even);
    even.forEach((offset) => allocator.free(offset));
    offsets.filter((_, i) => i % 2 === 1).forEach((offset) => allocator.free(offset));
    expect(allocator.allocate(4_000 * 1024)).toBe(0);
  });

  test("takes the tightest of the free ranges, so that large ones stay whole", () => {
    const allocator = new Allocator(0, MiB, () => expect.unreachable());
    const [, large, , small] = [256, 4096, 256, 512, 256].map((bytes) => allocator.allocate(bytes));
    allocator.free(large);
    allocator.free(small);
    expect(allocator.allocate(512)).toBe(small);
    expect(allocator.allocate(4096)).toBe(large);
  });

  test("needs no more space than what is missing beyond a free end", () => {
    const requests: number[] = [];
    const allocator = new Allocator(0, MiB, (bytesMin) => {
      requests.push(bytesMin);
      return 2 * MiB;
    });
    allocator.allocate(MiB - 4096);
    expect(allocator.allocate(8192)).toBe(MiB - 4096);
    expect(allocator.allocate(4096)).toBe(MiB + 4096);
    expect(requests).toEqual([4096]);
  });

  test("refuses to free what is not allocated", () => {
    const allocator = new Allocator(256, MiB, () => expect.unreachable());
    const offset = allocator.allocate(1000);
    expect(() => allocator.free(offset + 256)).toThrow(
      `expected an allocated offset to free, got ${offset + 256}`,
    );
    allocator.free(offset);
    expect(() => allocator.free(offset)).toThrow(SealdexError);
  });
});

describe("kernel memory", () => {
  test("keeps its contents when it grows", () => {
    const first = allocate(4096);
    bytesAt(first, 4096).fill(7);
    const before = bytesAt(first, 1).buffer.byteLength;
    const large = allocate(before);
    expect(bytesAt(first, 1).buffer.byteLength).toBeGreaterThanOrEqual(2 * before);
    expect(bytesAt(first, 4096).every((byte) => byte === 7)).toBe(true);
    free(large);
    free(first);
    expect(allocatedBytes()).toBe(0);
  });

  test("shows the same bytes through every view", () => {
    const at = allocate(16);
    expect(at).toBeGreaterThan(0);
    expect(at % 256).toBe(0);
    doublesAt(at, 2).set([1, -2]);
    expect([...wordsAt(at, 4)]).toEqual([0, 0x3ff00000, 0, 0xc0000000]);
    expect(floatsAt(at + 4, 1)[0]).toBe(1.875);
    expect([...bytesAt(at + 12, 4)]).toEqual([0, 0, 0, 0xc0]);
    free(at);
  });

  test("freed memory is cleared: some at once, the rest in later turns of the event loop", async () => {
    const sizes = [1000, 3 * MiB, 6 * MiB, 20 * MiB, 300];
    const ranges = sizes.map((bytes) => ({ at: allocate(bytes), bytes }));
    for (const { at, bytes } of ranges) bytesAt(at, bytes).fill(7);
    const isClear = ({ at, bytes }: (typeof ranges)[number]) => !bytesAt(at, bytes).includes(7);
    for (const { at } of ranges) free(at);
    expect(allocatedBytes()).toBe(0);
    expect(ranges.map(isClear)).toEqual([true, true, false, false, true]);
    for (const { at } of ranges) expect(() => free(at)).toThrow("expected an allocated offset to free");
    let turns = 0;
    while (!ranges.every(isClear)) {
      expect(++turns).toBeLessThan(10);
      await new Promise(setImmediate);
    }
    expect(turns).toBeGreaterThan(1);
    for (const { at } of ranges) expect(() => free(at)).toThrow("expected an allocated offset to free");
  });

  test("freed memory that is held stays as it is, and much of it prevents that more is", async () => {
    const ranges = [100, 3 * MiB, 70 * MiB].map((bytes) => ({ at: allocate(bytes), bytes }));
    for (const { at, bytes } of ranges) bytesAt(at, bytes).fill(7);
    const isClear = ({ at, bytes }: (typeof ranges)[number]) => !bytesAt(at, bytes).includes(7);
    const releases = [holdFreed(), holdFreed()];
    for (const { at } of ranges) free(at);
    expect(allocatedBytes()).toBe(0);
    expect(holdFreed()).toBeUndefined();
    for (const release of releases) {
      for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
      expect(ranges.map(isClear)).toEqual([false, false, false]);
      release?.();
    }
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
    expect(ranges.map(isClear)).toEqual([true, true, true]);
    for (const { at } of ranges) expect(() => free(at)).toThrow("expected an allocated offset to free");
    const again = holdFreed();
    expect(again).toBeDefined();
    again?.();
  });

  test("memory that waits to be cleared is used again before more is taken", () => {
    const first = allocate(64 * MiB);
    const length = bytesAt(first, 1).buffer.byteLength;
    for (let i = 0; i < 20; i++) {
      const at = i === 0 ? first : allocate(64 * MiB);
      expect(bytesAt(at, 64 * MiB).includes(7)).toBe(false);
      bytesAt(at, 64 * MiB).fill(7);
      free(at);
      expect(allocatedBytes()).toBe(0);
    }
    expect(bytesAt(first, 1).buffer.byteLength).toBe(length);
  });

  test("reaches beyond 2 GiB, and says when 4 GiB are exhausted", () => {
    const blocks: number[] = [];
    while (Math.max(0, ...blocks) < 3 * GiB) blocks.push(allocate(GiB / 2));
    const at = Math.max(...blocks);
    floatsAt(at, 5).set([2, 3, 10, 100, 0]);
    kernels().dotBlock(at, at + 8, 1, 2, at + 16);
    expect(floatsAt(at + 16, 1)[0]).toBe(320);

    const held = allocatedBytes();
    const tooLarge = () => allocate(GiB);
    expect(tooLarge).toThrow(expect.objectContaining({ name: "SealdexError", code: "internal" }));
    expect(tooLarge).toThrow("the limit of 4 GiB is exhausted");
    expect(allocatedBytes()).toBe(held);
    // Never freed: to clear 3 GiB that were not touched would take 3 GiB of the machine.
  });
});
