import { describe, expect, test } from "vitest";
import { storageConformance } from "../../src/storage/conformance.js";
import { createMemoryStore } from "../../src/storage/memory.js";

describe("memory conforms", () => {
  storageConformance({
    test,
    factory: async () => {
      const store = createMemoryStore();
      return { open: async () => store };
    },
  });
});

test("two memory stores have nothing in common", async () => {
  const [one, other] = [createMemoryStore(), createMemoryStore()];
  await one.create("a", Uint8Array.of(1));
  expect(await other.list("")).toEqual([]);
});
